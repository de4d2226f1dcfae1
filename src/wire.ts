/**
 * The wire format of the server half, field names unchanged.
 *
 * Instants are seconds since 1970, memory is in bytes.
 */

/** How a framework takes a change of size. */
export type Change = 'live' | 'restarts ranks' | 'restart needed' | 'next job';

export type LauncherMode = 'here' | 'pod';

export type ReleasePolicy = 'ask' | 'release' | 'keep';

export type ContainerState =
  | 'not created'
  | 'pending'
  | 'starting'
  | 'ready'
  | 'draining'
  | 'failed'
  | 'unknown';

export type ClusterState =
  'creating' | 'ready' | 'scaling' | 'degraded' | 'releasing' | 'ended';

export type RunState =
  'running' | 'stopping' | 'ended' | 'failed' | 'stopped' | 'lost';

export type HealthState =
  | 'starting'
  | 'live'
  | 'stale'
  | 'forbidden'
  | 'unauthenticated'
  | 'gone'
  | 'failed';

export interface IReason {
  code: string;
  text: string;
  detail: string;
}

export interface IGpu {
  index: number;
  name: string;
  memory_bytes: number | null;
}

export interface IContainer {
  uid: string;
  name: string;
  role: 'launcher' | 'worker';
  state: ContainerState;
  since: number;
  host: string | null;
  gpus: IGpu[];
  reason: IReason | null;
  created: number | null;
  drain_until: number | null;
  busy: boolean;
}

export interface IHostFile {
  folder: string;
  hostfile: string;
  discovery_script: string;
  generation: number;
  wanted: number;
  in_sync: boolean;
  frozen_since: number | null;
  reason: IReason | null;
}

/** What a person may change on a living cluster. */
export interface IClusterSettings {
  script: string | null;
  arguments: string[];
  kernelspec: string | null;
  min_size: number;
  max_size: number | null;
  pass_env: string[];
  release_policy: ReleasePolicy;
  framework: string;
}

export interface IRun {
  id: string;
  state: RunState;
  program: string;
  text: string;
  argv: string[];
  cwd: string;
  started: number;
  np: number | null;
  min_np: number | null;
  max_np: number | null;
  elastic: boolean;
  ended: number | null;
  exit: number | null;
  found: boolean;
  shell: string | null;
  pid: number | null;
  reason: IReason | null;
}

export interface IShell {
  id: string;
  cwd: string;
  started: number;
  pid: number;
  attached: number;
  run: string | null;
}

/** A decision that waits for the person. */
export interface IOffer {
  kind: 'drain' | 'release';
  text: string;
  choices: string[];
  due: number | null;
  container: string | null;
  run: string | null;
}

export interface ILimit {
  size: number;
  text: string;

  /** Who can change it, and where; not every limit says so. */
  detail?: string;
}

export interface ILastChange {
  previous: number;
  target: number;
  at: number;
  by: string;
  undo: boolean;
}

export interface ICluster {
  id: string;
  name: string;
  owner: string;
  engine: string;
  framework: string;
  framework_title: string;
  launcher_mode: LauncherMode;
  state: ClusterState;
  created: number;
  target: number;
  ready: number;
  np: number;
  slots: number;
  gpus_per_container: number;
  gpu_kind: string | null;
  containers: IContainer[];
  hostfile: IHostFile;
  settings: IClusterSettings;
  limit: ILimit;
  growth: Change;
  shrink: Change;
  valid_sizes: number[] | null;
  runs: IRun[];
  shells: IShell[];
  offers: IOffer[];
  last_change: ILastChange | null;
  reason: IReason | null;
  history: string[];
}

export interface IHealth {
  state: HealthState;
  since: number;
  text: string;
}

export interface IEngineStatus {
  name: string;
  title: string;
  health: IHealth;
}

export interface IRevision {
  epoch: string;
  n: number;
}

/** Answer of `GET clusters`. */
export interface IState {
  revision: IRevision;
  version: string;
  engines: IEngineStatus[];
  clusters: ICluster[];
}

/** What a change would do, computed without doing it. */
export interface IPlan {
  cluster: string;
  current: number;
  target: number;
  add: number;
  remove: string[];
  starts_now: number;
  waits: number;
  gpus: number;
  change: Change;
  confirm: boolean;
  text: string;
  warnings: string[];
  eta_seconds: number | null;
  np: number | null;
}

/** The command of a cluster at one revision. */
export interface ILaunch {
  cluster: string;
  revision: IRevision;
  program: string;
  argv: string[];
  text: string;
  cwd: string;
  ready: boolean;
  reason: IReason | null;
  warnings: string[];
}

export interface IFrameworkOption {
  name: string;
  title: string;
  program: string;
  growth: Change;
  shrink: Change;
  elastic: boolean;
  available: boolean;
  reason: string;
}

export interface IGpuKind {
  name: string;
  total: number;
  free: number | null;
}

export interface IKernelOption {
  name: string;
  title: string;
  python: string;
}

export interface IEngineOptions {
  name: string;
  title: string;
  summary: string;
  health: IHealth;
  max_size: number;
  capacity: ILimit;
  launcher_modes: LauncherMode[];

  /** Why the launcher is by default a container of its own. */
  launcher_note?: string;

  /** Whether CPU, memory, environment and placement may be chosen. */
  pod_fields?: boolean;
  gpu_kinds: IGpuKind[];
  gpu_note: string;
  images: string[] | null;
  storage: string[] | null;
  shared_memory: boolean;
}

/** Answer of `GET options`: what the create form may offer. */
export interface IOptions {
  version: string;
  engines: IEngineOptions[];
  default_engine: string;
  frameworks: IFrameworkOption[];
  kernels: IKernelOption[];
  default_kernel: string | null;
  passable_env: string[];
  terminals: boolean;
  min_size: number;
  example: string | null;
  root_folder: string;
  notices: string[];
}

/** Use of one container now. `null`: not available. */
export interface ISample {
  container: string;
  cpu_percent: number | null;
  memory_bytes: number | null;
  gpu_percent: (number | null)[];
  gpu_memory_bytes: (number | null)[];
}

/** Body of `POST clusters`. */
export interface ICreateRequest {
  name: string;
  framework: string;
  size: number;
  engine?: string;
  launcher_mode?: LauncherMode;
  gpus_per_container?: number;
  gpu_kind?: string;
  image?: string;
  shared_memory?: number;
  storage?: (string | IMount)[];
  cpu?: number;
  memory?: number;
  env?: Record<string, string>;
  secret_env?: { name: string; secret: string; key: string }[];
  node_selector?: Record<string, string>;
  tolerations?: IToleration[];
  script?: string;
}

/** A claim and where containers see it. */
export interface IMount {
  claim: string;
  path: string;
  read_only: boolean;
}

export interface IToleration {
  key: string;
  operator: 'Equal' | 'Exists';
  value?: string;
  effect: string;
}

export interface ITerminalAnswer {
  name: string;
  shell: string;
  launch: ILaunch | null;
}

export interface ICheck {
  name: string;
  ok: boolean | null;
  text: string;
  fix: string;
}

export interface ITagged<T> {
  tag: string | null;
  body: T;
}
