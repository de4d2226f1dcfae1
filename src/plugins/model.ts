// The model provides a token, and a token cannot wait.
/* eslint-disable jupyter/prefer-lazy-imports */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IConnectionStatus } from '@jupyterlab/services';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { ElasticApi } from '../api';
import { DEFAULT_APPEARANCE, ElasticModel } from '../model';
import type { IAppearance } from '../tokens';
import { IElasticModel } from '../tokens';

const PLUGIN_ID = 'jupyter-elastic:plugin';

const SELECTED_KEY = 'jupyter-elastic:selected';

/** State of the clusters, for everything else. */
export const modelPlugin: JupyterFrontEndPlugin<IElasticModel> = {
  id: PLUGIN_ID,
  description: 'Reads the training clusters of the server and keeps drafts.',
  autoStart: true,
  provides: IElasticModel,
  // JupyterLab before 4.6 has no connection status: the poll's own backoff serves there.
  optional: [ISettingRegistry, IStateDB, IConnectionStatus],
  activate: (
    app: JupyterFrontEnd,
    settingRegistry: ISettingRegistry | null,
    stateDB: IStateDB | null,
    connection: IConnectionStatus | null
  ): IElasticModel => {
    const { serverSettings, events } = app.serviceManager;
    const model = new ElasticModel({
      api: new ElasticApi(serverSettings),
      events: events.stream,
      isConnected: () => connection?.isConnected ?? true
    });
    void app.restored.then(async () => {
      if (stateDB) {
        await restoreSelection(model, stateDB);
      }
      model.start();
    });
    if (settingRegistry) {
      void followSettings(model, settingRegistry);
    }
    return model;
  }
};

/** Show the cluster again that was shown last; remember the next ones. */
async function restoreSelection(
  model: ElasticModel,
  stateDB: IStateDB
): Promise<void> {
  let saved = await stateDB.fetch(SELECTED_KEY).catch(() => undefined);
  if (typeof saved === 'string') {
    model.select(saved);
  }
  model.changed.connect(() => {
    const id = model.selected?.id;
    if (id !== undefined && id !== saved) {
      saved = id;
      void stateDB.save(SELECTED_KEY, id).catch(() => undefined);
    }
  });
}

/** Apply the settings, now and whenever they change. */
async function followSettings(
  model: ElasticModel,
  settingRegistry: ISettingRegistry
): Promise<void> {
  let settings: ISettingRegistry.ISettings;
  try {
    settings = await settingRegistry.load(PLUGIN_ID);
  } catch {
    // Without the schema the defaults serve; the settings editor shows why it is missing.
    return;
  }
  const apply = (): void => model.setAppearance(readAppearance(settings));
  settings.changed.connect(apply);
  apply();
}

/** What the settings say, each value checked. */
export function readAppearance(
  settings: Pick<ISettingRegistry.ISettings, 'composite'>
): IAppearance {
  const { refreshSeconds, confirmShrink, showGpus } = settings.composite;
  const fallback = DEFAULT_APPEARANCE;
  return {
    refreshSeconds:
      typeof refreshSeconds === 'number'
        ? refreshSeconds
        : fallback.refreshSeconds,
    confirmShrink:
      typeof confirmShrink === 'boolean'
        ? confirmShrink
        : fallback.confirmShrink,
    showGpus: typeof showGpus === 'boolean' ? showGpus : fallback.showGpus
  };
}
