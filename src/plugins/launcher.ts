import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILauncher } from '@jupyterlab/launcher';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { CommandIDs, DOMAIN, IElasticModel } from '../tokens';

/** The launcher card. It comes with the server half's first answer, so it never leads nowhere. */
export const launcherPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-elastic:launcher',
  description: 'Adds a card for a new training cluster to the launcher.',
  autoStart: true,
  requires: [IElasticModel],
  optional: [ILauncher, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IElasticModel,
    launcher: ILauncher | null,
    translator: ITranslator | null
  ): void => {
    if (!launcher) {
      return;
    }
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const add = (): void => {
      if (model.state !== null) {
        model.changed.disconnect(add);
        launcher.add({
          command: CommandIDs.createCluster,
          args: { isLauncher: true },
          category: trans.__('Other'),
          rank: 5
        });
      }
    };
    model.changed.connect(add);
    add();
  }
};
