/** The calls of the server half. */
import type { ServerConnection } from '@jupyterlab/services';
import { request, requestChanged } from './request';
import type {
  ICheck,
  ICluster,
  IClusterSettings,
  ICreateRequest,
  ILaunch,
  IOffer,
  IOptions,
  IPlan,
  ISample,
  IState,
  ITagged,
  ITerminalAnswer
} from './wire';

export type * from './wire';

/** The server half's calls. Each rejects with a `RequestError`. */
export class ElasticApi {
  constructor(settings: ServerConnection.ISettings) {
    this._settings = settings;
  }

  /** The state, or `null` when it is still the one `tag` names. */
  state(tag: string | null): Promise<ITagged<IState> | null> {
    return requestChanged<IState>(this._settings, 'clusters', tag);
  }

  options(): Promise<IOptions> {
    return this._get('options');
  }

  create(body: ICreateRequest): Promise<ICluster> {
    return this._send('POST', 'clusters', { ...body });
  }

  checkCreate(body: ICreateRequest): Promise<IPlan> {
    return this._send('POST', 'clusters', { ...body, dry_run: true });
  }

  change(id: string, patch: Partial<IClusterSettings>): Promise<ICluster> {
    return this._send('PATCH', Private.path(id), patch);
  }

  release(id: string, stopRuns: boolean): Promise<unknown> {
    const query = stopRuns ? '?stop_runs=true' : '';
    return this._send('DELETE', `${Private.path(id)}${query}`);
  }

  plan(id: string, size: number, victims?: string[]): Promise<IPlan> {
    const body = victims ? { size, victims } : { size };
    return this._send('POST', Private.path(id, 'plan'), body);
  }

  scale(id: string, size: number, force: boolean): Promise<IPlan> {
    const body = force ? { size, force } : { size };
    return this._send('PUT', Private.path(id, 'target'), body);
  }

  undo(id: string): Promise<IPlan> {
    return this._send('POST', Private.path(id, 'undo'), {});
  }

  launch(id: string): Promise<ILaunch> {
    return this._get(Private.path(id, 'launch'));
  }

  /** Make a terminal on a new keeper shell, or on a living one. */
  terminal(id: string, shell?: string): Promise<ITerminalAnswer> {
    const body = shell ? { shell } : {};
    return this._send('POST', Private.path(id, 'terminals'), body);
  }

  stopRun(id: string, run: string): Promise<unknown> {
    return this._send('DELETE', Private.path(id, 'runs', run));
  }

  async runLog(id: string, run: string): Promise<string> {
    const path = Private.path(id, 'runs', run, 'log');
    return (await this._get<{ output: string }>(path)).output;
  }

  removeContainer(id: string, name: string, replace: boolean): Promise<IPlan> {
    const path = Private.path(id, 'containers', name);
    return this._send('DELETE', `${path}?replace=${replace}&force=true`);
  }

  async containerLog(id: string, name: string): Promise<string> {
    const path = Private.path(id, 'containers', name, 'log');
    return (await this._get<{ output: string }>(path)).output;
  }

  answer(id: string, offer: IOffer, choice: string): Promise<ICluster> {
    const { kind, container, run } = offer;
    const body = {
      kind,
      choice,
      ...(container === null ? {} : { container }),
      ...(run === null ? {} : { run })
    };
    return this._send('POST', Private.path(id, 'offers'), body);
  }

  async preflight(id: string): Promise<ICheck[]> {
    const path = Private.path(id, 'preflight');
    return (await this._send<{ checks: ICheck[] }>('POST', path, {})).checks;
  }

  async metrics(id: string): Promise<ISample[]> {
    const path = Private.path(id, 'metrics');
    return (await this._get<{ samples: ISample[] }>(path)).samples;
  }

  refresh(): Promise<unknown> {
    return this._send('POST', 'refresh', {});
  }

  private _get<T>(path: string): Promise<T> {
    return request<T>(this._settings, path);
  }

  private _send<T>(method: string, path: string, body?: object): Promise<T> {
    return request<T>(this._settings, path, { method, body });
  }

  private _settings: ServerConnection.ISettings;
}

namespace Private {
  export function path(...parts: string[]): string {
    return ['clusters', ...parts.map(encodeURIComponent)].join('/');
  }
}
