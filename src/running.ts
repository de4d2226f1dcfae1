/** Clusters and their live runs as the Running panel lists them. */
import type { IRunningSessions } from '@jupyterlab/running';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import { terminalIcon } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import type { ISignal } from '@lumino/signaling';
import type { ICluster, IRun } from './api';
import { clusterIcon } from './icons';
import { isLive } from './state';
import type { IElasticModel } from './tokens';
import { CommandIDs } from './tokens';
import { clusterWord, readyWords, runTitle } from './wording';

/** One section of the Running panel. */
export class ElasticRunning implements IRunningSessions.IManager {
  constructor(options: ElasticRunning.IOptions) {
    this._model = options.model;
    this._commands = options.commands;
    this._releaseAll = options.releaseAll;
    this._trans = options.trans;
    const trans = this._trans;
    this.name = trans.__('Clusters');
    this.shutdownLabel = trans.__('Release or stop');
    this.shutdownAllLabel = trans.__('Release All');
  }

  readonly name: string;
  readonly shutdownLabel: string;
  readonly shutdownAllLabel: string;
  readonly supportsMultipleViews = true;

  get runningChanged(): ISignal<IElasticModel, void> {
    return this._model.changed;
  }

  shutdownAllConfirmationText = (): string =>
    this._trans.__(
      'All training clusters are given back, and their live runs are stopped: %1. Clusters that you leave here live on without Jupyter.',
      this._model.clusters.map(cluster => cluster.name).join(', ')
    );

  running({
    mode
  }: {
    mode?: 'tree' | 'list';
  } = {}): IRunningSessions.IRunningItem[] {
    return this._model.clusters.flatMap(cluster => {
      const runs = cluster.runs
        .filter(isLive)
        .map(run => this._runItem(cluster, run));
      return mode === 'tree'
        ? [this._clusterItem(cluster, runs)]
        : [this._clusterItem(cluster), ...runs];
    });
  }

  refreshRunning(): void {
    void this._model.refresh();
  }

  /** The Running panel has asked already, with the names. */
  shutdownAll(): void {
    this._releaseAll();
  }

  private _clusterItem(
    cluster: ICluster,
    children?: IRunningSessions.IRunningItem[]
  ): IRunningSessions.IRunningItem {
    const trans = this._trans;
    return {
      ...(children ? { children } : {}),
      context: cluster.id,
      icon: (): LabIcon => clusterIcon,
      label: () => cluster.name,
      labelTitle: () =>
        [
          cluster.framework_title,
          clusterWord(cluster.state, trans),
          readyWords(cluster, trans)
        ].join(', '),
      detail: () => `${cluster.ready}/${cluster.target}`,
      open: () => {
        this._model.select(cluster.id);
        void this._commands.execute(CommandIDs.openPanel);
      },
      shutdown: () =>
        void this._commands.execute(CommandIDs.releaseCluster, {
          cluster: cluster.id
        })
    };
  }

  private _runItem(
    cluster: ICluster,
    run: IRun
  ): IRunningSessions.IRunningItem {
    const args = { cluster: cluster.id, run: run.id };
    return {
      context: `${cluster.id}/${run.id}`,
      icon: (): LabIcon => terminalIcon,
      label: () => runTitle(run),
      labelTitle: () => run.text,
      open: () =>
        void this._commands.execute(
          run.shell === null
            ? CommandIDs.openPanel
            : CommandIDs.openRunTerminal,
          args
        ),
      shutdown: () => void this._commands.execute(CommandIDs.stopRun, args)
    };
  }

  private _commands: CommandRegistry;
  private _model: IElasticModel;
  private _releaseAll: () => void;
  private _trans: TranslationBundle;
}

/** A namespace for `ElasticRunning` statics. */
export namespace ElasticRunning {
  export interface IOptions {
    model: IElasticModel;
    commands: CommandRegistry;

    /** Release all clusters; the person was asked already. */
    releaseAll: () => void;
    trans: TranslationBundle;
  }
}
