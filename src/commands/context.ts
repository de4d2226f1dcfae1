/** What all commands share. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import type { ICluster } from '../api';
import type { ICommandArguments } from '../guards';
import { BadArguments, readArguments } from '../guards';
import type { ScriptSource } from '../scripts';
import type { IElasticActions, IElasticModel } from '../tokens';

export interface ICommandContext {
  app: JupyterFrontEnd;
  model: IElasticModel;
  actions: IElasticActions;
  scripts: ScriptSource;
  trans: TranslationBundle;
}

/** The cluster that the arguments name, else the one in the panel; `null` when there is none. */
export function chosenCluster(
  model: IElasticModel,
  args: ReadonlyPartialJSONObject
): ICluster | null {
  const { cluster } = args;
  return typeof cluster === 'string' ? model.cluster(cluster) : model.selected;
}

/** Run a command on a cluster: arguments are checked, a failure is shown and passed on as `false`. */
export async function onCluster(
  context: ICommandContext,
  args: ReadonlyPartialJSONObject,
  action: (cluster: ICluster, checked: ICommandArguments) => Promise<unknown>
): Promise<unknown> {
  try {
    const checked = readArguments(args);
    const cluster = chosenCluster(context.model, args);
    if (cluster === null) {
      throw new BadArguments(context.trans.__('There is no such cluster.'));
    }
    return await action(cluster, checked);
  } catch (error) {
    context.actions.report(error);
    return false;
  }
}

/** The value of an argument that a command cannot do without. */
export function needed<T>(name: string, value: T | undefined): T {
  if (value === undefined) {
    throw new BadArguments(`"${name}" is missing.`);
  }
  return value;
}
