// The section is one small class.
/* eslint-disable jupyter/prefer-lazy-imports */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRunningSessionManagers } from '@jupyterlab/running';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ElasticRunning } from '../running';
import { DOMAIN, IElasticActions, IElasticModel } from '../tokens';

/** Clusters and runs in the Running panel; the section comes with the server half's first answer. */
export const runningPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-elastic:running',
  description: 'Lists clusters and live runs in the Running panel.',
  autoStart: true,
  requires: [IElasticModel, IElasticActions],
  optional: [IRunningSessionManagers, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IElasticModel,
    actions: IElasticActions,
    managers: IRunningSessionManagers | null,
    translator: ITranslator | null
  ): void => {
    if (!managers) {
      return;
    }
    const running = new ElasticRunning({
      model,
      commands: app.commands,
      releaseAll: () => {
        actions.releaseAll({ ask: false }).catch(error => {
          actions.report(error);
        });
      },
      trans: (translator ?? nullTranslator).load(DOMAIN)
    });
    const add = (): void => {
      if (model.state !== null) {
        model.changed.disconnect(add);
        managers.add(running);
      }
    };
    model.changed.connect(add);
    add();
  }
};
