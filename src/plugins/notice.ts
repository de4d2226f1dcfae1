import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { isLive } from '../state';
import { DOMAIN, IElasticModel } from '../tokens';

/** JupyterLab's own File > Shut Down. */
const SHUTDOWN = 'filemenu:shutdown';

/** Says in JupyterLab's shutdown dialog which clusters live on. */
export const noticePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyter-elastic:notice',
  description: 'Names the living clusters in the shutdown dialog.',
  autoStart: true,
  requires: [IElasticModel],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IElasticModel,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    app.commands.commandExecuted.connect((_, { id }) => {
      if (id === SHUTDOWN && model.clusters.length > 0) {
        // The dialog is attached before the next frame is drawn.
        window.requestAnimationFrame(() => addNotice(noticeText(model, trans)));
      }
    });
  }
};

/** Which clusters there are, and what happens to them. */
export function noticeText(
  model: IElasticModel,
  trans: TranslationBundle
): string {
  const names = model.clusters.map(cluster => cluster.name).join(', ');
  const runs = model.clusters.flatMap(cluster => cluster.runs).filter(isLive);
  return runs.length === 0
    ? trans.__(
        'These training clusters live on without Jupyter: %1. Release them first if they should not.',
        names
      )
    : trans._n(
        'These training clusters live on without Jupyter: %2. %1 run goes on. Release them first if they should not.',
        'These training clusters live on without Jupyter: %2. %1 runs go on. Release them first if they should not.',
        runs.length,
        names
      );
}

function addNotice(text: string): void {
  const dialogs = document.querySelectorAll('.jp-Dialog .jp-Dialog-body');
  const body = dialogs.item(dialogs.length - 1);
  if (Dialog.tracker.size === 0 || body === null) {
    return;
  }
  const notice = document.createElement('p');
  notice.className = 'jp-ElasticNotice';
  notice.textContent = text;
  body.append(notice);
}
