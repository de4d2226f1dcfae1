/** States as words and signs. A sign never stands without its word. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type {
  ClusterState,
  ContainerState,
  IContainer,
  ICluster,
  IRun,
  RunState
} from './api';
import { gpuCount } from './state';

/** The word for a cluster's state. */
export function clusterWord(
  state: ClusterState,
  trans: TranslationBundle
): string {
  const words: Record<ClusterState, string> = {
    creating: trans.__('Creating'),
    ready: trans.__('Ready'),
    scaling: trans.__('Scaling'),
    degraded: trans.__('Degraded'),
    releasing: trans.__('Releasing'),
    ended: trans.__('Ended')
  };
  return words[state] ?? state;
}

/** The word for a container's state. */
export function containerWord(
  state: ContainerState,
  trans: TranslationBundle
): string {
  const words: Record<ContainerState, string> = {
    'not created': trans.__('Not created'),
    pending: trans.__('Pending'),
    starting: trans.__('Starting'),
    ready: trans.__('Running'),
    draining: trans.__('Leaving'),
    failed: trans.__('Failed'),
    unknown: trans.__('Not known')
  };
  return words[state] ?? state;
}

/** The sign beside a container's state. */
export function containerSign(state: ContainerState): string {
  const signs: Record<ContainerState, string> = {
    'not created': '◌',
    pending: '◌',
    starting: '◔',
    ready: '●',
    draining: '◑',
    failed: '✕',
    unknown: '?'
  };
  return signs[state] ?? '?';
}

/** The sign beside a run's state. */
export function runSign(state: RunState): string {
  const signs: Record<RunState, string> = {
    running: '●',
    stopping: '◑',
    ended: '✓',
    failed: '✕',
    stopped: '■',
    lost: '?'
  };
  return signs[state] ?? '?';
}

/** The word for a run's state. */
export function runWord(run: IRun, trans: TranslationBundle): string {
  const words: Record<RunState, string> = {
    running: trans.__('running'),
    stopping: trans.__('stopping'),
    ended: trans.__('ended'),
    failed: trans.__('failed'),
    stopped: trans.__('stopped'),
    lost: trans.__('lost sight of')
  };
  return words[run.state] ?? run.state;
}

/** What a run trains: the script's name, else the program's. */
export function runTitle(run: IRun): string {
  const script = run.argv.find(word => word.endsWith('.py'));
  return script?.split('/').pop() ?? run.program;
}

/** "launcher" or "worker". */
export function roleWord(
  role: IContainer['role'],
  trans: TranslationBundle
): string {
  return role === 'launcher' ? trans.__('launcher') : trans.__('worker');
}

/** "4 of 4 containers ready". */
export function readyWords(
  cluster: ICluster,
  trans: TranslationBundle
): string {
  return trans._n(
    '%2 of %1 container ready',
    '%2 of %1 containers ready',
    cluster.target,
    cluster.ready
  );
}

/** "2 GPUs", or '' where there are none. */
export function gpuWords(count: number, trans: TranslationBundle): string {
  return count === 0 ? '' : trans._n('%1 GPU', '%1 GPUs', count);
}

/** "2/2 containers · 2 GPUs" over several clusters. */
export function summaryWords(
  clusters: readonly ICluster[],
  trans: TranslationBundle
): string {
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
  const ready = sum(clusters.map(cluster => cluster.ready));
  const target = sum(clusters.map(cluster => cluster.target));
  const gpus = gpuWords(sum(clusters.map(gpuCount)), trans);
  const containers = trans._n(
    '%2/%1 container',
    '%2/%1 containers',
    target,
    ready
  );
  return gpus === '' ? containers : `${containers} · ${gpus}`;
}
