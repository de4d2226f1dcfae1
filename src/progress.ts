/** One message per change of size, updated in place until it is settled. */
import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { ICluster } from './api';
import type { IElasticModel } from './tokens';

/** How long a settled message stays, in ms. */
const SETTLED_CLOSE = 8000;

export class ScaleProgress implements IDisposable {
  constructor(options: ScaleProgress.IOptions) {
    this._model = options.model;
    this._undo = options.undo;
    this._trans = options.trans;
    this._model.changed.connect(this._update, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Begin to follow a change of target. A message about an earlier one is taken back. */
  follow(cluster: ICluster, target: number): void {
    this._forget(cluster.id);
    if (cluster.ready === target && cluster.containers.length === target) {
      return;
    }
    const message = this._text(cluster, target);
    const id = Notification.emit(message, 'in-progress', {
      autoClose: false,
      progress: 0
    });
    this._changes.set(cluster.id, { id, target, from: cluster.ready, message });
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    Signal.clearData(this);
  }

  private _update(): void {
    for (const [clusterId, change] of this._changes) {
      const cluster = this._model.cluster(clusterId);
      if (cluster === null || cluster.target !== change.target) {
        this._forget(clusterId);
      } else if (cluster.state === 'ready') {
        this._settle(cluster, change);
      } else if (cluster.state === 'degraded') {
        this._stuck(cluster, change);
      } else {
        this._step(cluster, change);
      }
    }
  }

  private _step(cluster: ICluster, change: Private.IChange): void {
    const message = this._text(cluster, change.target);
    if (message === change.message) {
      return;
    }
    change.message = message;
    const way = Math.abs(change.target - change.from);
    const left = Math.abs(change.target - cluster.ready);
    Notification.update({
      id: change.id,
      message,
      progress: way === 0 ? 0 : Math.max(0, Math.min(1, 1 - left / way))
    });
  }

  private _settle(cluster: ICluster, change: Private.IChange): void {
    const trans = this._trans;
    this._changes.delete(cluster.id);
    Notification.update({
      id: change.id,
      type: 'success',
      message: this._text(cluster, change.target),
      autoClose: SETTLED_CLOSE,
      actions: cluster.last_change?.undo
        ? [
            {
              label: trans.__('Undo'),
              callback: () => this._undo(cluster.id)
            }
          ]
        : []
    });
  }

  private _stuck(cluster: ICluster, change: Private.IChange): void {
    const trans = this._trans;
    this._changes.delete(cluster.id);
    Notification.update({
      id: change.id,
      type: 'error',
      message: trans.__(
        '%1: %2',
        cluster.name,
        cluster.reason?.text ?? trans.__('not as asked')
      ),
      autoClose: false,
      actions: [
        { label: trans.__('Undo'), callback: () => this._undo(cluster.id) }
      ]
    });
  }

  private _text(cluster: ICluster, target: number): string {
    return this._trans._n(
      '%2: %3 of %1 container ready',
      '%2: %3 of %1 containers ready',
      target,
      cluster.name,
      Math.min(cluster.ready, target)
    );
  }

  private _forget(clusterId: string): void {
    const change = this._changes.get(clusterId);
    if (change) {
      this._changes.delete(clusterId);
      Notification.dismiss(change.id);
    }
  }

  private _changes = new Map<string, Private.IChange>();
  private _isDisposed = false;
  private _model: IElasticModel;
  private _trans: TranslationBundle;
  private _undo: (clusterId: string) => void;
}

/** A namespace for `ScaleProgress` statics. */
export namespace ScaleProgress {
  export interface IOptions {
    model: IElasticModel;
    trans: TranslationBundle;
    undo: (clusterId: string) => void;
  }
}

namespace Private {
  export interface IChange {
    id: string;
    target: number;
    from: number;
    message: string;
  }
}
