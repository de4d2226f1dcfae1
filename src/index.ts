/**
 * @packageDocumentation
 * Elastic training clusters in JupyterLab.
 */
import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { commandsPlugin } from './plugins/commands';
import { launcherPlugin } from './plugins/launcher';
import { modelPlugin } from './plugins/model';
import { noticePlugin } from './plugins/notice';
import { panelPlugin } from './plugins/panel';
import { runningPlugin } from './plugins/running';
import { statusPlugin } from './plugins/status';

export type * from './api';
export { CommandIDs, IElasticActions, IElasticModel } from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  modelPlugin,
  commandsPlugin,
  panelPlugin,
  statusPlugin,
  runningPlugin,
  launcherPlugin,
  noticePlugin
];

export default plugins;
