/** Facts that follow from a state. Pure. */
import type { ICluster, IRevision, IRun } from './api';

/** Whether the processes of a run still live. */
export function isLive(run: IRun): boolean {
  return run.state === 'running' || run.state === 'stopping';
}

/** The GPUs that the containers of a cluster hold. */
export function gpuCount(cluster: ICluster): number {
  return cluster.containers
    .map(container => container.gpus.length)
    .reduce((sum, count) => sum + count, 0);
}

/** The live elastic run whose range the scale control shows. */
export function elasticRun(cluster: ICluster): IRun | null {
  return cluster.runs.find(run => isLive(run) && run.elastic) ?? null;
}

/** Ranks as containers: how many containers hold `np` ranks. */
export function containersFor(cluster: ICluster, np: number): number {
  return Math.ceil(np / Math.max(1, cluster.slots));
}

/** The largest size that the scale control offers. */
export function largestSize(cluster: ICluster): number {
  return Math.max(1, cluster.limit.size, cluster.target);
}

/** Sizes that a hand can set a slider to; larger ones are for the number field. */
const EASY_SIZES = 16;

/** The end of the slider. */
export function sliderEnd(cluster: ICluster): number {
  const easy = Math.max(EASY_SIZES, 2 * cluster.target);
  return Math.min(largestSize(cluster), easy);
}

/** Whether `revision` is news to somebody who knows `known`. A new server is a new epoch. */
export function isNewer(revision: IRevision, known: IRevision | null): boolean {
  return (
    known === null || revision.epoch !== known.epoch || revision.n > known.n
  );
}

/** Read `<epoch>-<n>`, or `null` when it is something else. */
export function parseRevision(text: unknown): IRevision | null {
  const match = typeof text === 'string' ? /^(.+)-(\d+)$/.exec(text) : null;
  return match === null ? null : { epoch: match[1], n: Number(match[2]) };
}
