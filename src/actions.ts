/** What a person can do, with its questions and messages. The panel and the commands share it. */
import { Clipboard, Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ICluster } from './api';
import {
  confirmPlan,
  confirmRelease,
  confirmRemoval,
  confirmStop,
  showChecks,
  showLines,
  showLog
} from './dialogs';
import type { LaunchTerminals } from './launching';
import { notebookCode } from './notebookcode';
import type { ScaleProgress } from './progress';
import { RequestError } from './request';
import { isLive } from './state';
import type { IElasticActions, IElasticModel } from './tokens';

/** How long a message about something that went well stays, in ms. */
const MESSAGE_CLOSE = 5000;

/** How long a refusal stays on the screen, in ms; it stays in the notification centre. */
const REFUSAL_CLOSE = 12000;

export class ElasticActions implements IElasticActions {
  constructor(options: ElasticActions.IOptions) {
    this._model = options.model;
    this._trans = options.trans;
    this._terminals = options.terminals;
    this._progress = options.progress;
  }

  async scale(
    id: string,
    size: number,
    { ask }: { ask: boolean }
  ): Promise<boolean> {
    const cluster = this._cluster(id);
    const plan = await this._model.api.plan(id, size);
    const shrinks = size < cluster.target;
    const careful = shrinks && this._model.appearance.confirmShrink;
    if (ask || plan.confirm || careful) {
      if (!(await confirmPlan(cluster, plan, this._trans))) {
        return false;
      }
    }
    await this._model.api.scale(id, size, plan.confirm);
    await this._changed(id, size);
    if (this._model.draft(id) === size) {
      this._model.setDraft(id, null);
    }
    return true;
  }

  async undo(id: string, { ask }: { ask: boolean }): Promise<boolean> {
    const last = this._cluster(id).last_change;
    if (last === null || !last.undo) {
      throw new RequestError({
        kind: 'conflict',
        message: this._trans.__('There is no change that can be undone.')
      });
    }
    // Undoing is scaling back, with the same questions.
    const plan = await this._model.api.plan(id, last.previous);
    if (ask || plan.confirm) {
      if (!(await confirmPlan(this._cluster(id), plan, this._trans))) {
        return false;
      }
      await this._model.api.scale(id, last.previous, true);
    } else {
      await this._model.api.undo(id);
    }
    await this._changed(id, last.previous);
    return true;
  }

  async release(id: string): Promise<boolean> {
    return this._release([this._cluster(id)]);
  }

  async releaseAll({ ask }: { ask: boolean }): Promise<boolean> {
    const { clusters } = this._model;
    return clusters.length > 0 && this._release(clusters, ask);
  }

  openLaunchTerminal(id: string): Promise<void> {
    return this._terminals.openLaunch(id);
  }

  async openRunTerminal(id: string, runId: string): Promise<void> {
    const run = this._cluster(id).runs.find(item => item.id === runId);
    if (!run?.shell) {
      throw new RequestError({
        kind: 'missing',
        code: 'no_shell',
        message: this._trans.__(
          'This run was not started from a terminal of this extension.'
        )
      });
    }
    await this._terminals.openShell(id, run.shell);
  }

  async copyLaunchCommand(id: string): Promise<void> {
    const known = this._model.launch;
    const launch =
      known?.cluster === id ? known : await this._model.api.launch(id);
    this._copy(launch.text);
  }

  async copyCode(id: string): Promise<void> {
    this._copy(notebookCode(this._cluster(id)));
  }

  async stopRun(id: string, runId: string): Promise<boolean> {
    const run = this._cluster(id).runs.find(item => item.id === runId);
    if (!run || !(await confirmStop(run.text, this._trans))) {
      return false;
    }
    await this._model.api.stopRun(id, runId);
    await this._model.refresh();
    return true;
  }

  async showRunLog(id: string, run: string): Promise<void> {
    const read = (): Promise<string> => this._model.api.runLog(id, run);
    const grows = (): boolean =>
      !!this._model
        .cluster(id)
        ?.runs.some(item => item.id === run && isLive(item));
    await showLog(
      this._trans.__('Output of the run'),
      read,
      grows,
      this._trans
    );
  }

  async showContainerLog(id: string, container: string): Promise<void> {
    const read = (): Promise<string> =>
      this._model.api.containerLog(id, container);
    const grows = (): boolean =>
      !!this._model
        .cluster(id)
        ?.containers.some(
          item => item.name === container && item.state !== 'failed'
        );
    await showLog(
      this._trans.__('Output of %1', container),
      read,
      grows,
      this._trans
    );
  }

  async removeContainer(
    id: string,
    container: string,
    replace: boolean
  ): Promise<boolean> {
    const { api } = this._model;
    const cluster = this._cluster(id);
    const size = replace ? cluster.target : cluster.target - 1;
    const text = replace
      ? this._trans.__('A new container takes its place.')
      : (await api.plan(id, size, [container])).text;
    if (!(await confirmRemoval(container, text, replace, this._trans))) {
      return false;
    }
    await api.removeContainer(id, container, replace);
    await this._changed(id, size);
    return true;
  }

  async preflight(id: string): Promise<void> {
    const { name } = this._cluster(id);
    const checks = await this._model.api.preflight(id);
    await showChecks(
      this._trans.__('Before a launch on %1', name),
      checks,
      this._trans
    );
  }

  async showHistory(id: string): Promise<void> {
    const { name, history } = this._cluster(id);
    await showLines(
      this._trans.__('History of %1', name),
      history,
      this._trans
    );
  }

  report(error: unknown): void {
    const { message, hint } = RequestError.from(error);
    const text = hint === '' ? message : `${message} ${hint}`;
    Notification.error(text, { autoClose: REFUSAL_CLOSE });
  }

  /** Read the new state, and follow the change until it is settled. */
  private async _changed(id: string, target: number): Promise<void> {
    await this._model.refresh();
    const cluster = this._model.cluster(id);
    if (cluster?.target === target) {
      this._progress.follow(cluster, target);
    }
  }

  private async _release(
    clusters: readonly ICluster[],
    ask = true
  ): Promise<boolean> {
    if (ask && !(await confirmRelease(clusters, this._trans))) {
      return false;
    }
    const answers = await Promise.allSettled(
      clusters.map(cluster =>
        this._model.api.release(cluster.id, cluster.runs.some(isLive))
      )
    );
    await this._model.refresh();
    const failed = answers.find(answer => answer.status === 'rejected');
    if (failed) {
      const problem = RequestError.from(failed.reason);
      if (problem.code === 'live_run' && clusters.length === 1) {
        // A run began after the question was asked: ask again, with its name.
        return this.release(clusters[0].id);
      }
      throw problem;
    }
    Notification.info(
      this._trans._n(
        'The cluster is being released.',
        '%1 clusters are being released.',
        clusters.length
      ),
      { autoClose: MESSAGE_CLOSE }
    );
    return true;
  }

  private _copy(text: string): void {
    Clipboard.copyToSystem(text);
    Notification.info(this._trans.__('Copied.'), { autoClose: 2000 });
  }

  private _cluster(id: string): ICluster {
    const cluster = this._model.cluster(id);
    if (cluster === null) {
      throw new RequestError({
        kind: 'missing',
        code: 'not_found',
        message: this._trans.__('There is no such cluster any more.')
      });
    }
    return cluster;
  }

  private _model: IElasticModel;
  private _progress: ScaleProgress;
  private _terminals: LaunchTerminals;
  private _trans: TranslationBundle;
}

/** A namespace for `ElasticActions` statics. */
export namespace ElasticActions {
  export interface IOptions {
    model: IElasticModel;
    progress: ScaleProgress;
    terminals: LaunchTerminals;
    trans: TranslationBundle;
  }
}
