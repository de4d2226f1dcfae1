/** The one model behind the panel, the commands, the status bar and the Running panel. */
import type { Event } from '@jupyterlab/services';
import { Debouncer, Poll } from '@lumino/polling';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type {
  ElasticApi,
  ICluster,
  ILaunch,
  IOptions,
  ISample,
  IState,
  ITagged
} from './api';
import { ClusterDetails } from './details';
import { RequestError } from './request';
import { isNewer, parseRevision } from './state';
import type { IAppearance, ICreateDraft, IElasticModel } from './tokens';

/** The event that says: there is a newer revision. */
export const EVENT_SCHEMA = 'https://jupyter-elastic/cluster/v1';

/** How long a burst of events may go on before the state is read, in ms. */
const EVENT_DEBOUNCE = 100;

/** The longest time between two tries while nothing answers, in ms. */
const SLOWEST_POLL = 300_000;

export const DEFAULT_APPEARANCE: IAppearance = {
  refreshSeconds: 30,
  confirmShrink: false,
  showGpus: true
};

/**
 * State of all clusters: read when the server says there is news, and slowly anyway. What the person is about to change
 * is kept apart from it, so no answer moves anything under their hand.
 */
export class ElasticModel implements IElasticModel {
  constructor(options: ElasticModel.IOptions) {
    this.api = options.api;
    this._details = new ClusterDetails({
      api: options.api,
      isConnected: options.isConnected,
      onChanged: () => this._emit()
    });
    this._poll = new Poll<void>({
      auto: false,
      name: 'jupyter-elastic:state',
      factory: () => this._read(),
      frequency: Private.frequency(this._appearance),
      linger: 0,
      standby: () => !options.isConnected() || 'when-hidden'
    });
    this._debouncer = new Debouncer(() => this.refresh(), EVENT_DEBOUNCE);
    this._events = options.events;
    this._events?.connect(this._onEvent, this);
    document.addEventListener('visibilitychange', this._onVisibility);
  }

  readonly api: ElasticApi;

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get state(): IState | null {
    return this._state;
  }

  get options(): IOptions | null {
    return this._options;
  }

  get problem(): RequestError | null {
    return this._problem;
  }

  get asOf(): number | null {
    return this._asOf;
  }

  get serverReplaced(): boolean {
    return this._state !== null && this._state.version !== this._firstVersion;
  }

  get clusters(): readonly ICluster[] {
    return this._state?.clusters ?? [];
  }

  get selected(): ICluster | null {
    return this.cluster(this._selected) ?? this.clusters[0] ?? null;
  }

  get samples(): readonly ISample[] {
    return this._details.samples;
  }

  get launch(): ILaunch | null {
    return this._details.launch;
  }

  get launchProblem(): RequestError | null {
    return this._details.launchProblem;
  }

  get appearance(): IAppearance {
    return this._appearance;
  }

  get creating(): boolean {
    return this._creating;
  }

  get createDraft(): ICreateDraft | null {
    return this._createDraft;
  }

  get isDisposed(): boolean {
    return this._poll.isDisposed;
  }

  /** Begin to read. */
  start(): void {
    void this._poll.start();
    void this.refreshOptions();
  }

  cluster(id: string): ICluster | null {
    return this.clusters.find(cluster => cluster.id === id) ?? null;
  }

  select(id: string): void {
    this._selected = id;
    this._emit();
  }

  draft(id: string): number | null {
    return this._drafts.get(id) ?? null;
  }

  setDraft(id: string, size: number | null): void {
    if (size === null || size === this.cluster(id)?.target) {
      this._drafts.delete(id);
    } else {
      this._drafts.set(id, size);
    }
    this._emit();
  }

  setCreating(open: boolean): void {
    this._creating = open;
    if (open) {
      void this.refreshOptions();
    }
    this._emit();
  }

  setCreateDraft(draft: ICreateDraft | null): void {
    this._createDraft = draft;
    this._emit();
  }

  setAppearance(appearance: IAppearance): void {
    this._appearance = appearance;
    this._poll.frequency = Private.frequency(appearance);
    this._emit();
  }

  setPanelVisible(visible: boolean): void {
    this._panelVisible = visible;
    this._details.follow(this.selected, visible);
  }

  async refresh(): Promise<void> {
    // Not `poll.refresh()`: that one does nothing while a read is under way, which may have missed the news.
    const next = { interval: Poll.IMMEDIATE, phase: 'refreshed' as const };
    await this._poll.schedule(next);
    while (!this.isDisposed && this._poll.state.phase === 'refreshed') {
      await this._poll.tick.catch(() => undefined);
    }
  }

  async refreshOptions(): Promise<void> {
    try {
      this._options = await this.api.options();
    } catch {
      // The state's own problem is shown already, and the form reads the options again when it opens.
      return;
    }
    if (!this.isDisposed) {
      this._emit();
    }
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    document.removeEventListener('visibilitychange', this._onVisibility);
    this._events?.disconnect(this._onEvent, this);
    this._debouncer.dispose();
    this._details.dispose();
    this._poll.dispose();
    Signal.clearData(this);
  }

  private async _read(): Promise<void> {
    const turn = ++this._turn;
    let answer: ITagged<IState> | null;
    try {
      answer = await this.api.state(this._tag);
    } catch (error) {
      if (!this.isDisposed && turn > this._lastTurn) {
        this._lastTurn = turn;
        this._problem = RequestError.from(error);
        this._emit();
      }
      throw error;
    }
    // An answer that was overtaken by a later one tells nothing.
    if (this.isDisposed || turn < this._lastTurn) {
      return;
    }
    this._lastTurn = turn;
    this._asOf = Date.now();
    const recovered = this._problem !== null;
    this._problem = null;
    const news = answer !== null && this._accept(answer);
    if (news || recovered) {
      this._emit();
    }
  }

  private _accept({ tag, body }: ITagged<IState>): boolean {
    const known = this._state?.revision ?? null;
    if (known?.epoch === body.revision.epoch && body.revision.n < known.n) {
      return false;
    }
    this._firstVersion = this._firstVersion ?? body.version;
    this._state = body;
    this._tag = tag;
    for (const [id, size] of this._drafts) {
      const cluster = this.cluster(id);
      if (cluster === null || cluster.target === size) {
        this._drafts.delete(id);
      }
    }
    return true;
  }

  private _onEvent(_: unknown, event: Event.Emission): void {
    if (event.schema_id !== EVENT_SCHEMA || this.isDisposed) {
      return;
    }
    const revision = parseRevision(event['revision']);
    if (
      revision !== null &&
      isNewer(revision, this._state?.revision ?? null) &&
      document.visibilityState !== 'hidden'
    ) {
      void this._debouncer.invoke();
    }
  }

  private _onVisibility = (): void => {
    if (document.visibilityState === 'visible' && this._turn > 0) {
      void this.refresh();
    }
  };

  private _emit(): void {
    this._details.follow(this.selected, this._panelVisible);
    this._changed.emit();
  }

  private _appearance: IAppearance = DEFAULT_APPEARANCE;
  private _asOf: number | null = null;
  private _changed = new Signal<this, void>(this);
  private _createDraft: ICreateDraft | null = null;
  private _creating = false;
  private _debouncer: Debouncer<void>;
  private _details: ClusterDetails;
  private _drafts = new Map<string, number>();
  private _events: ISignal<unknown, Event.Emission> | null;
  private _firstVersion: string | null = null;
  private _lastTurn = 0;
  private _options: IOptions | null = null;
  private _panelVisible = false;
  private _poll: Poll<void>;
  private _problem: RequestError | null = null;
  private _selected = '';
  private _state: IState | null = null;
  private _tag: string | null = null;
  private _turn = 0;
}

/** A namespace for `ElasticModel` statics. */
export namespace ElasticModel {
  export interface IOptions {
    api: ElasticApi;

    /** The server's events; `null` where there are none. */
    events: ISignal<unknown, Event.Emission> | null;

    /** Whether asking the server makes sense at all. */
    isConnected: () => boolean;
  }
}

namespace Private {
  export function frequency(appearance: IAppearance): {
    interval: number;
    backoff: boolean;
    max: number;
  } {
    const interval = Math.max(5, appearance.refreshSeconds) * 1000;
    return { interval, backoff: true, max: Math.max(interval, SLOWEST_POLL) };
  }
}
