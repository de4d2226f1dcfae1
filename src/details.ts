/** What only the open panel needs of the selected cluster: its command, and the use of its containers. */
import type { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import type { ElasticApi, ICluster, ILaunch, ISample } from './api';
import { RequestError } from './request';
import { isLive } from './state';

/** The least time between two samples, in ms. */
export const METRICS_INTERVAL = 5000;

export class ClusterDetails implements IDisposable {
  constructor(options: ClusterDetails.IOptions) {
    this._api = options.api;
    this._onChanged = options.onChanged;
    this._metrics = new Poll<void>({
      auto: false,
      name: 'jupyter-elastic:metrics',
      factory: () => this._readMetrics(),
      frequency: { interval: METRICS_INTERVAL, backoff: true, max: 60_000 },
      linger: 0,
      standby: () => !options.isConnected() || 'when-hidden'
    });
  }

  get launch(): ILaunch | null {
    return this._launch;
  }

  get launchProblem(): RequestError | null {
    return this._launchProblem;
  }

  get samples(): readonly ISample[] {
    return this._samples;
  }

  get isDisposed(): boolean {
    return this._metrics.isDisposed;
  }

  /** Follow this cluster, or none while the panel cannot be seen. */
  follow(cluster: ICluster | null, visible: boolean): void {
    if (this.isDisposed) {
      return;
    }
    if (cluster?.id !== this._cluster?.id) {
      this._launch = null;
      this._launchProblem = null;
      this._launchKey = '';
      this._samples = [];
    }
    this._cluster = cluster;
    this._followMetrics(visible && !!cluster?.runs.some(isLive));
    const key = cluster === null ? '' : Private.launchKey(cluster);
    if (visible && cluster !== null && key !== this._launchKey) {
      this._launchKey = key;
      void this._readLaunch(cluster.id, key);
    }
  }

  dispose(): void {
    this._metrics.dispose();
  }

  private _followMetrics(wanted: boolean): void {
    if (wanted === this._sampling) {
      return;
    }
    this._sampling = wanted;
    if (wanted) {
      void this._metrics.start();
      return;
    }
    this._samples = [];
    void this._metrics.stop();
  }

  private async _readLaunch(id: string, key: string): Promise<void> {
    let launch: ILaunch | null = null;
    let problem: RequestError | null = null;
    try {
      launch = await this._api.launch(id);
    } catch (error) {
      problem = RequestError.from(error);
    }
    if (this.isDisposed || key !== this._launchKey) {
      return;
    }
    this._launch = launch;
    this._launchProblem = problem;
    this._onChanged();
  }

  private async _readMetrics(): Promise<void> {
    const id = this._cluster?.id;
    if (id === undefined) {
      return;
    }
    const samples = await this._api.metrics(id);
    if (this._sampling && id === this._cluster?.id) {
      this._samples = samples;
      this._onChanged();
    }
  }

  private _api: ElasticApi;
  private _cluster: ICluster | null = null;
  private _launch: ILaunch | null = null;
  private _launchKey = '';
  private _launchProblem: RequestError | null = null;
  private _metrics: Poll<void>;
  private _onChanged: () => void;
  private _samples: readonly ISample[] = [];
  private _sampling = false;
}

export namespace ClusterDetails {
  export interface IOptions {
    api: ElasticApi;
    isConnected: () => boolean;
    onChanged: () => void;
  }
}

namespace Private {
  /** What the command depends on: it is read again when one of these changed. */
  export function launchKey(cluster: ICluster): string {
    const { id, state, np, settings, hostfile, runs } = cluster;
    const live = runs.filter(isLive).map(run => run.id);
    return JSON.stringify([
      id,
      state,
      np,
      settings,
      hostfile.wanted,
      hostfile.in_sync,
      live
    ]);
  }
}
