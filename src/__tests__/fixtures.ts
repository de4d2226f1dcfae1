/** Things the tests are made of: a cluster, and a server half that answers from memory. */
/* eslint-disable jupyter/no-untranslated-string -- what a server says is not translated here */
import { ServerConnection } from '@jupyterlab/services';
import { nullTranslator } from '@jupyterlab/translation';
import type {
  ICluster,
  IContainer,
  ILaunch,
  IOptions,
  IPlan,
  IRun,
  IState
} from '../api';
import { DOMAIN } from '../tokens';

export const trans = nullTranslator.load(DOMAIN);

export const BASE = 'http://localhost/a%40b/';

export function makeContainer(values: Partial<IContainer> = {}): IContainer {
  return {
    uid: 'u0',
    name: 'tthvd-0',
    role: 'launcher',
    state: 'ready',
    since: 1000,
    host: '127.0.0.1',
    gpus: [],
    reason: null,
    created: 1000,
    drain_until: null,
    busy: false,
    ...values
  };
}

export function makeRun(values: Partial<IRun> = {}): IRun {
  return {
    id: 'run1',
    state: 'running',
    program: 'horovodrun',
    text: 'horovodrun -np 2 python train.py',
    argv: ['horovodrun', '-np', '2', 'python', 'train.py'],
    cwd: '/tmp',
    started: 1000,
    np: 2,
    min_np: null,
    max_np: null,
    elastic: false,
    ended: null,
    exit: null,
    found: false,
    shell: 'sh1',
    pid: 7,
    reason: null,
    ...values
  };
}

export function makeCluster(values: Partial<ICluster> = {}): ICluster {
  return {
    id: 'tthvd-abc234',
    name: 'tthvd',
    owner: 'me',
    engine: 'local',
    framework: 'horovod',
    framework_title: 'Horovod',
    launcher_mode: 'here',
    state: 'ready',
    created: 1000,
    target: 2,
    ready: 2,
    np: 2,
    slots: 1,
    gpus_per_container: 0,
    gpu_kind: null,
    containers: [
      makeContainer(),
      makeContainer({
        uid: 'u1',
        name: 'tthvd-x7k2p',
        role: 'worker',
        host: '127.0.0.2'
      })
    ],
    hostfile: {
      folder: '/etc/mpi',
      hostfile: '/etc/mpi/hostfile',
      discovery_script: '/etc/mpi/discover_hosts.sh',
      generation: 2,
      wanted: 2,
      in_sync: true,
      frozen_since: null,
      reason: null
    },
    settings: {
      script: '/root/train.py',
      arguments: [],
      kernelspec: null,
      min_size: 1,
      max_size: null,
      pass_env: [],
      release_policy: 'ask',
      framework: 'horovod'
    },
    limit: { size: 8, text: 'This machine has 8 places.' },
    growth: 'restart needed',
    shrink: 'restart needed',
    valid_sizes: null,
    runs: [],
    shells: [],
    offers: [],
    last_change: null,
    reason: null,
    history: [],
    ...values
  };
}

export function makeState(
  n: number,
  clusters: ICluster[] = [makeCluster()],
  epoch = 'aa'
): IState {
  return {
    revision: { epoch, n },
    version: '0.1.0',
    engines: [
      {
        name: 'local',
        title: 'This machine',
        health: { state: 'live', since: 1000, text: '' }
      }
    ],
    clusters
  };
}

export function makePlan(values: Partial<IPlan> = {}): IPlan {
  return {
    cluster: 'tthvd-abc234',
    current: 2,
    target: 4,
    add: 2,
    remove: [],
    starts_now: 2,
    waits: 0,
    gpus: 0,
    change: 'restart needed',
    confirm: false,
    text: '+2 containers. 2 start now.',
    warnings: [],
    eta_seconds: null,
    np: 4,
    ...values
  };
}

export function makeLaunch(values: Partial<ILaunch> = {}): ILaunch {
  return {
    cluster: 'tthvd-abc234',
    revision: { epoch: 'aa', n: 1 },
    program: 'horovodrun',
    argv: ['horovodrun', '-np', '2'],
    text: 'horovodrun -np 2 --hostfile /etc/mpi/hostfile python train.py',
    cwd: '/root',
    ready: true,
    reason: null,
    warnings: [],
    ...values
  };
}

export function makeOptions(values: Partial<IOptions> = {}): IOptions {
  const framework = {
    title: 'Horovod',
    program: 'horovodrun',
    growth: 'restart needed',
    shrink: 'restart needed',
    elastic: false,
    available: true,
    reason: ''
  } as const;
  return {
    version: '0.1.0',
    engines: [
      {
        name: 'local',
        title: 'This machine',
        summary: 'this machine, 8 CPU cores, no GPU',
        health: { state: 'live', since: 1000, text: '' },
        max_size: 8,
        capacity: { size: 8, text: 'This machine has 8 places.' },
        launcher_modes: ['here'],
        gpu_kinds: [],
        gpu_note: '',
        images: null,
        storage: null,
        shared_memory: false
      }
    ],
    default_engine: 'local',
    frameworks: [
      { ...framework, name: 'horovod' },
      {
        ...framework,
        name: 'horovod-elastic',
        title: 'Horovod elastic',
        growth: 'live',
        shrink: 'live',
        elastic: true
      }
    ],
    kernels: [{ name: 'base', title: 'Base', python: '/usr/bin/python3' }],
    default_kernel: 'base',
    passable_env: ['HF_TOKEN', 'LANG'],
    terminals: true,
    min_size: 2,
    example: '/root/tensorflow2_mnist.py',
    root_folder: '/root',
    notices: [],
    ...values
  };
}

/** One request as the fake server half saw it. */
export interface ISeen {
  method: string;
  path: string;
  body: unknown;
  headers: Headers;
}

/** A server half in memory: `answers` maps "METHOD path" to a body, or to a status and a body. */
export class FakeServer {
  state: IState = makeState(1);
  options: IOptions = makeOptions();
  answers = new Map<string, { status: number; body: unknown }>();
  seen: ISeen[] = [];

  /** When set, each state waits for its turn: call the functions in any order. */
  held: (() => void)[] | null = null;

  readonly settings = ServerConnection.makeSettings({
    baseUrl: BASE,
    appendToken: false,
    fetch: (input, init) => this._fetch(new Request(input, init))
  });

  answer(what: string, body: unknown, status = 200): void {
    this.answers.set(what, { status, body });
  }

  count(what: string): number {
    return this.seen.filter(({ method, path }) => `${method} ${path}` === what)
      .length;
  }

  body(what: string): unknown {
    return this.seen.find(({ method, path }) => `${method} ${path}` === what)
      ?.body;
  }

  private async _fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = url.pathname.replace('/a%40b/jupyter-elastic/', '');
    const text = await request.text();
    const what = `${request.method} ${path}`;
    this.seen.push({
      method: request.method,
      path,
      body: text === '' ? undefined : JSON.parse(text),
      headers: request.headers
    });
    const planned = this.answers.get(what);
    if (planned) {
      return json(planned.body, planned.status);
    }
    if (what === 'GET options') {
      return json(this.options);
    }
    if (what === 'GET clusters') {
      return this._state(request);
    }
    return json({ code: 'not_found', message: `no ${what}` }, 404);
  }

  private async _state(request: Request): Promise<Response> {
    const { state } = this;
    const tag = `"${state.revision.epoch}-${state.revision.n}"`;
    if (this.held) {
      const { held } = this;
      await new Promise<void>(resolve => held.push(resolve));
    }
    return request.headers.get('If-None-Match') === tag
      ? new Response(null, { status: 304 })
      : json(state, 200, { ETag: tag });
  }
}

function json(
  body: unknown,
  status = 200,
  headers: Record<string, string> = {}
): Response {
  const text = body === undefined ? null : JSON.stringify(body);
  return new Response(text, { status, headers });
}

/** Say to the page that it is hidden, or shown. */
export function setVisibility(state: 'visible' | 'hidden'): void {
  Object.defineProperty(document, 'visibilityState', {
    configurable: true,
    get: () => state
  });
  Object.defineProperty(document, 'hidden', {
    configurable: true,
    get: () => state === 'hidden'
  });
  document.dispatchEvent(new Event('visibilitychange'));
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}
