// The commands exist from the start, and all of this is a few kB.
/* eslint-disable jupyter/prefer-lazy-imports */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { IEditorTracker } from '@jupyterlab/fileeditor';
import { ITerminalTracker } from '@jupyterlab/terminal';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ElasticActions } from '../actions';
import { addClusterCommands } from '../commands/clusters';
import type { ICommandContext } from '../commands/context';
import { addDetailCommands } from '../commands/details';
import { addScaleCommands } from '../commands/scaling';
import { LaunchTerminals } from '../launching';
import { ScaleProgress } from '../progress';
import { scriptSource } from '../scripts';
import { TerminalTitles } from '../titles';
import { CommandIDs, DOMAIN, IElasticActions, IElasticModel } from '../tokens';

/** Commands that mean something without further arguments. */
const IN_PALETTE = [
  CommandIDs.openPanel,
  CommandIDs.createCluster,
  CommandIDs.tryExample,
  CommandIDs.refresh,
  CommandIDs.scale,
  CommandIDs.scaleUp,
  CommandIDs.scaleDown,
  CommandIDs.undoScale,
  CommandIDs.openLaunchTerminal,
  CommandIDs.copyLaunchCommand,
  CommandIDs.useSelectedScript,
  CommandIDs.preflight,
  CommandIDs.showHistory,
  CommandIDs.copyCode,
  CommandIDs.releaseCluster,
  CommandIDs.releaseAll
];

/** Everything a person can do, as commands. */
export const commandsPlugin: JupyterFrontEndPlugin<IElasticActions> = {
  id: 'jupyter-elastic:commands',
  description: 'Commands that create, launch, scale and release clusters.',
  autoStart: true,
  provides: IElasticActions,
  requires: [IElasticModel],
  optional: [
    ITranslator,
    ICommandPalette,
    IDefaultFileBrowser,
    IEditorTracker,
    ITerminalTracker
  ],
  activate: (
    app: JupyterFrontEnd,
    model: IElasticModel,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    browser: IDefaultFileBrowser | null,
    editors: IEditorTracker | null,
    tracker: ITerminalTracker | null
  ): IElasticActions => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const { commands, serviceManager } = app;
    const titles = new TerminalTitles({ model, terminals: tracker, trans });
    const terminals = new LaunchTerminals({
      api: model.api,
      commands,
      opened: (shell, id, program) => {
        const cluster = model.cluster(id)?.name ?? id;
        titles.opened(shell, { cluster, program });
      },
      terminals: serviceManager.terminals,
      trans
    });
    const progress = new ScaleProgress({
      model,
      trans,
      undo: cluster => {
        actions.undo(cluster, { ask: false }).catch(error => {
          actions.report(error);
        });
      }
    });
    const actions = new ElasticActions({ model, terminals, progress, trans });
    const context: ICommandContext = {
      app,
      model,
      actions,
      scripts: scriptSource(browser, editors),
      trans
    };
    addClusterCommands(context);
    addScaleCommands(context);
    addDetailCommands(context);
    const category = trans.__('Elastic');
    for (const command of IN_PALETTE) {
      palette?.addItem({ command, category });
    }
    model.changed.connect(() => commands.notifyCommandChanged());
    return actions;
  }
};
