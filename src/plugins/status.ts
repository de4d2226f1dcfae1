// The item is one small class.
/* eslint-disable jupyter/prefer-lazy-imports */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ElasticStatus } from '../statusitem';
import { CommandIDs, DOMAIN, IElasticModel } from '../tokens';

/** The status bar item; there only while there is a cluster. */
export const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-elastic:status',
  description: 'Shows containers and GPUs in the status bar.',
  autoStart: true,
  requires: [IElasticModel],
  optional: [IStatusBar, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IElasticModel,
    statusBar: IStatusBar | null,
    translator: ITranslator | null
  ): void => {
    if (!statusBar) {
      return;
    }
    const item = new ElasticStatus({
      model,
      onOpen: () => void app.commands.execute(CommandIDs.openPanel),
      trans: (translator ?? nullTranslator).load(DOMAIN)
    });
    statusBar.registerStatusItem('jupyter-elastic:status', {
      item,
      align: 'left',
      rank: 50,
      isActive: () => model.clusters.length > 0,
      activeStateChanged: model.changed
    });
  }
};
