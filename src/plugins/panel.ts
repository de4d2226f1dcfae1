// A panel that is added late loses its place in the restored layout.
/* eslint-disable jupyter/prefer-lazy-imports */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { IEditorTracker } from '@jupyterlab/fileeditor';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ElasticPanel } from '../panel';
import { scriptSource } from '../scripts';
import { DOMAIN, IElasticActions, IElasticModel, PANEL_ID } from '../tokens';

/** Where the panel stands among the sidebars; those of other packages go from 501 to 899. */
const RANK = 550;

/** The sidebar. */
export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-elastic:panel',
  description: 'Shows the training clusters in a sidebar.',
  autoStart: true,
  requires: [IElasticModel, IElasticActions],
  optional: [ITranslator, ILayoutRestorer, IDefaultFileBrowser, IEditorTracker],
  activate: (
    app: JupyterFrontEnd,
    model: IElasticModel,
    actions: IElasticActions,
    translator: ITranslator | null,
    restorer: ILayoutRestorer | null,
    browser: IDefaultFileBrowser | null,
    editors: IEditorTracker | null
  ): void => {
    const panel = new ElasticPanel({
      model,
      actions,
      commands: app.commands,
      scripts: scriptSource(browser, editors),
      trans: (translator ?? nullTranslator).load(DOMAIN)
    });
    app.shell.add(panel, 'left', { rank: RANK, type: 'Elastic' });
    restorer?.add(panel, PANEL_ID);
  }
};
