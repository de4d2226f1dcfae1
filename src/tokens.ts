/** What this extension provides to its own plugins and to other extensions. */
import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import type {
  ElasticApi,
  ICluster,
  ILaunch,
  IOptions,
  ISample,
  IState
} from './api';
import type { RequestError } from './request';

/** The npm package, first half of every plugin and token id. */
export const PACKAGE = 'jupyter-elastic';

/** The translation domain. */
export const DOMAIN = 'jupyter_elastic';

/** The panel's widget id. */
export const PANEL_ID = 'jupyter-elastic-panel';

/** What a person set in the settings editor: appearance only. */
export interface IAppearance {
  refreshSeconds: number;
  confirmShrink: boolean;
  showGpus: boolean;
}

/** What a person typed into the create form and did not send yet. */
/** What was typed about containers of a cluster; each row has one text per column. */
export interface IPodDraft {
  cpu: string;
  memory: string;
  env: string[][];
  secretEnv: string[][];
  nodeSelector: string[][];
  tolerations: string[][];

  /** Where containers see a claim, by its name. */
  storagePaths: Record<string, string>;

  /** Claims that are not to be written. */
  readOnly: string[];
}

export interface ICreateDraft extends IPodDraft {
  name: string;
  framework: string;
  size: string;
  engine: string;
  launcherMode: string;
  useGpu: boolean;
  gpuKind: string;
  gpus: string;
  image: string;
  sharedMemory: string;
  storage: string[];
  script: string;
}

/** All clusters as this browser knows them, and what the person is about to change. */
export interface IElasticModel extends IDisposable {
  readonly api: ElasticApi;

  /** Emitted when anything below changed. */
  readonly changed: ISignal<IElasticModel, void>;

  /** The last known state; `null` before the first answer. */
  readonly state: IState | null;
  readonly options: IOptions | null;

  /** Why the state could not be read last time; `null` when it could. */
  readonly problem: RequestError | null;

  /** When the state was last confirmed, in ms since 1970. */
  readonly asOf: number | null;

  /** The server half was replaced since this page was loaded. */
  readonly serverReplaced: boolean;

  readonly clusters: readonly ICluster[];
  readonly selected: ICluster | null;
  readonly samples: readonly ISample[];

  /** The command of the selected cluster; `null` until it is read. */
  readonly launch: ILaunch | null;

  /** Why the command could not be read. */
  readonly launchProblem: RequestError | null;
  readonly appearance: IAppearance;

  /** Whether the create form is open. */
  readonly creating: boolean;
  readonly createDraft: ICreateDraft | null;

  cluster(id: string): ICluster | null;
  select(id: string): void;

  /** The size a person chose and did not apply yet, or `null`. */
  draft(id: string): number | null;
  setDraft(id: string, size: number | null): void;

  setCreating(open: boolean): void;
  setCreateDraft(draft: ICreateDraft | null): void;
  setAppearance(appearance: IAppearance): void;

  /** Whether the panel can be seen: hidden, it asks for no metrics and no command. */
  setPanelVisible(visible: boolean): void;

  /** Read the state now. Resolves when the answer is in. */
  refresh(): Promise<void>;

  /** Read what the create form may offer. */
  refreshOptions(): Promise<void>;
}

export const IElasticModel = new Token<IElasticModel>(
  'jupyter-elastic:IElasticModel',
  'The training clusters of this server: state, drafts and calls.'
);

/** Everything a person can do, with its questions and messages. */
export interface IElasticActions {
  /** Change the target. `ask`: always ask first; else only when the plan or the settings say so. */
  scale(id: string, size: number, options: { ask: boolean }): Promise<boolean>;
  undo(id: string, options: { ask: boolean }): Promise<boolean>;
  release(id: string): Promise<boolean>;

  /** `ask: false` only where the person was asked already. */
  releaseAll(options: { ask: boolean }): Promise<boolean>;
  openLaunchTerminal(id: string): Promise<void>;
  openRunTerminal(id: string, run: string): Promise<void>;
  copyLaunchCommand(id: string): Promise<void>;
  copyCode(id: string): Promise<void>;
  stopRun(id: string, run: string): Promise<boolean>;
  showRunLog(id: string, run: string): Promise<void>;
  showContainerLog(id: string, container: string): Promise<void>;
  removeContainer(
    id: string,
    container: string,
    replace: boolean
  ): Promise<boolean>;
  preflight(id: string): Promise<void>;
  showHistory(id: string): Promise<void>;

  /** Show a failure of something the person started. */
  report(error: unknown): void;
}

export const IElasticActions = new Token<IElasticActions>(
  'jupyter-elastic:IElasticActions',
  'What a person can do with training clusters, with its questions and messages.'
);

/** The command ids. Arguments are ids and numbers only. */
export namespace CommandIDs {
  export const openPanel = 'jupyter-elastic:open-panel';
  export const createCluster = 'jupyter-elastic:create-cluster';
  export const tryExample = 'jupyter-elastic:try-example';
  export const refresh = 'jupyter-elastic:refresh';
  export const scale = 'jupyter-elastic:scale';
  export const scaleUp = 'jupyter-elastic:scale-up';
  export const scaleDown = 'jupyter-elastic:scale-down';
  export const undoScale = 'jupyter-elastic:undo-scale';
  export const releaseCluster = 'jupyter-elastic:release-cluster';
  export const releaseAll = 'jupyter-elastic:release-all';
  export const openLaunchTerminal = 'jupyter-elastic:open-launch-terminal';
  export const openRunTerminal = 'jupyter-elastic:open-run-terminal';
  export const copyLaunchCommand = 'jupyter-elastic:copy-launch-command';
  export const copyCode = 'jupyter-elastic:copy-code';
  export const useSelectedScript = 'jupyter-elastic:use-selected-script';
  export const stopRun = 'jupyter-elastic:stop-run';
  export const showRunLog = 'jupyter-elastic:show-run-log';
  export const showContainerLog = 'jupyter-elastic:show-container-log';
  export const replaceContainer = 'jupyter-elastic:replace-container';
  export const removeContainer = 'jupyter-elastic:remove-container';
  export const preflight = 'jupyter-elastic:run-preflight';
  export const showHistory = 'jupyter-elastic:show-history';
}
