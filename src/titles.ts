/**
 * Titles of the terminals that show launch shells: "tthvd: horovodrun" instead of the name that the server gave.
 *
 * The server names such a terminal after its shell, also when JupyterLab brings it back after a reload, so the name is all
 * that is needed to find the shell in the state.
 */
import type { MainAreaWidget } from '@jupyterlab/apputils';
import type { ITerminal } from '@jupyterlab/terminal';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { ICluster, IShell } from './api';
import type { IElasticModel } from './tokens';

export type TerminalWidget = MainAreaWidget<ITerminal.ITerminal>;

/** The part of JupyterLab's tracker of terminals that is used here. */
export interface ITerminals {
  readonly widgetAdded: ISignal<unknown, TerminalWidget>;
  forEach(visit: (widget: TerminalWidget) => void): void;
}

/** What a terminal shows, as this page knows it without asking. */
export interface IOpened {
  cluster: string;
  program: string;
}

interface ITitle {
  label: string;
  caption: string;
}

const NAME = /^elastic_\w+$/;

/** Whether the server names a terminal so that shows this shell, be it the second one that does. */
export function shows(name: string, shell: string): boolean {
  const stem = `elastic_${shell.replace(/\W/g, '_')}`;
  return (
    name === stem ||
    (name.startsWith(stem) && /^_\d+$/.test(name.slice(stem.length)))
  );
}

export class TerminalTitles implements IDisposable {
  constructor(options: TerminalTitles.IOptions) {
    this._model = options.model;
    this._trans = options.trans;
    this._terminals = options.terminals;
    this._terminals?.widgetAdded.connect(this._onAdded, this);
    this._terminals?.forEach(widget => this._follow(widget));
    this._model.changed.connect(this._apply, this);
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Say what a terminal is about to show: the state may know its shell a moment later only. */
  opened(shell: string, what: IOpened): void {
    this._opened.set(shell, what);
    this._apply();
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._followed.clear();
    Signal.clearData(this);
  }

  private _onAdded(_: unknown, widget: TerminalWidget): void {
    this._follow(widget);
  }

  private _follow(widget: TerminalWidget): void {
    if (!NAME.test(widget.content.session.name)) {
      return;
    }
    this._followed.add(widget);
    widget.disposed.connect(() => this._followed.delete(widget));
    // JupyterLab sets its own title when the terminal connects, and the shell's prompt may set another one.
    widget.content.title.changed.connect(() => this._set(widget), this);
    this._set(widget);
  }

  private _apply(): void {
    for (const widget of this._followed) {
      this._set(widget);
    }
  }

  private _set(widget: TerminalWidget): void {
    if (widget.isDisposed || widget.content.isDisposed || this._isDisposed) {
      return;
    }
    const { label, caption } = this._title(widget.content.session.name);
    const { title } = widget.content;
    if (title.label !== label) {
      title.label = label;
    }
    if (title.caption !== caption) {
      title.caption = caption;
    }
  }

  private _title(name: string): ITitle {
    const trans = this._trans;
    const found = this._find(name);
    if (found !== null) {
      const { cluster, shell } = found;
      const label = `${cluster.name}: ${this._program(cluster, shell.id)}`;
      this._seen.set(shell.id, label);
      return {
        label,
        caption: trans.__('Launch terminal of %1, %2', cluster.name, shell.cwd)
      };
    }
    const gone = Private.entry(this._seen, name);
    const opened = Private.entry(this._opened, name);
    if (gone === undefined && opened !== undefined) {
      // The state does not know it yet.
      return { label: `${opened.cluster}: ${opened.program}`, caption: '' };
    }
    if (!Private.settled(this._model)) {
      return { label: gone ?? trans.__('Launch terminal'), caption: '' };
    }
    return {
      label: gone ? trans.__('%1 (ended)', gone) : trans.__('Shell has ended'),
      caption: trans.__('This shell has ended. Launch opens a new one.')
    };
  }

  private _find(name: string): { cluster: ICluster; shell: IShell } | null {
    for (const cluster of this._model.clusters) {
      const shell = cluster.shells.find(item => shows(name, item.id));
      if (shell !== undefined) {
        return { cluster, shell };
      }
    }
    return null;
  }

  /** What runs in it, else what was typed into it, else what its cluster launches. */
  private _program(cluster: ICluster, shell: string): string {
    const run = cluster.runs.find(item => item.shell === shell);
    const frameworks = this._model.options?.frameworks ?? [];
    return (
      run?.program ??
      this._opened.get(shell)?.program ??
      frameworks.find(item => item.name === cluster.framework)?.program ??
      cluster.framework
    );
  }

  private _followed = new Set<TerminalWidget>();
  private _isDisposed = false;
  private _model: IElasticModel;
  private _opened = new Map<string, IOpened>();
  private _seen = new Map<string, string>();
  private _terminals: ITerminals | null;
  private _trans: TranslationBundle;
}

/** A namespace for `TerminalTitles` statics. */
export namespace TerminalTitles {
  export interface IOptions {
    model: IElasticModel;

    /** The open terminals; `null` where there are none. */
    terminals: ITerminals | null;
    trans: TranslationBundle;
  }
}

namespace Private {
  /** What is known of the shell that a terminal of this name shows. */
  export function entry<T>(
    known: ReadonlyMap<string, T>,
    name: string
  ): T | undefined {
    return [...known].find(([shell]) => shows(name, shell))?.[1];
  }

  /** Whether the state tells of every shell: all engines answer and every keeper has spoken. */
  export function settled(model: IElasticModel): boolean {
    const { state, problem } = model;
    return (
      state !== null &&
      problem === null &&
      state.engines.every(engine => engine.health.state === 'live') &&
      state.clusters.every(
        cluster =>
          cluster.state !== 'creating' && cluster.hostfile.frozen_since === null
      )
    );
  }
}
