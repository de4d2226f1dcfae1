/** The server's side of a story: what it knows, and what runs and lies on the machine. */
import type { APIRequestContext } from '@playwright/test';
import * as fs from 'fs';

export interface IContainer {
  name: string;
  role: string;
  state: string;
  reason: { code: string; text: string } | null;
}

export interface IRun {
  id: string;
  state: string;
  text: string;
  exit: number | null;
}

export interface ICluster {
  id: string;
  name: string;
  framework: string;
  state: string;
  target: number;
  ready: number;
  containers: IContainer[];
  runs: IRun[];
  hostfile: { hostfile: string; in_sync: boolean };
}

/** Every call to the server half; the front end's own files have `/lab/extensions` before the name. */
export const OURS = /^https?:\/\/[^/]+\/jupyter-elastic\//;

const RELEASE_SECONDS = 30;

/** The REST interface without the panel. */
export class ElasticServer {
  constructor(private _request: APIRequestContext) {}

  async clusters(): Promise<ICluster[]> {
    const answer = await this._call('get', 'clusters');
    return (answer as { clusters: ICluster[] }).clusters;
  }

  /** The only cluster there is. */
  async cluster(): Promise<ICluster> {
    const all = await this.clusters();
    if (all.length !== 1) {
      throw new Error(`one cluster expected, there are ${all.length}`);
    }
    return all[0];
  }

  async create(fields: Record<string, unknown> = {}): Promise<ICluster> {
    const body = { name: 'tthvd', framework: 'horovod', size: 2, ...fields };
    return (await this._call('post', 'clusters', body)) as ICluster;
  }

  async scale(id: string, size: number): Promise<void> {
    await this._call('put', `clusters/${id}/target`, { size });
  }

  /** Start the cluster's command without a terminal. */
  async start(id: string): Promise<IRun> {
    return (await this._call('post', `clusters/${id}/runs`, {})) as IRun;
  }

  /** Give back whatever there is. */
  async releaseAll(): Promise<void> {
    const end = Date.now() + RELEASE_SECONDS * 1000;
    let left = await this.clusters();
    while (left.length > 0) {
      if (Date.now() > end) {
        const names = left.map(cluster => cluster.id).join(', ');
        throw new Error(`could not be released: ${names}`);
      }
      for (const { id } of left.filter(one => one.state !== 'releasing')) {
        // It may be out of reach just now; the next turn tries again.
        await this._request.delete(
          `jupyter-elastic/clusters/${id}?stop_runs=true`
        );
      }
      await new Promise(resolve => setTimeout(resolve, 250));
      left = await this.clusters();
    }
  }

  /** End the terminals of the server. */
  async closeTerminals(): Promise<void> {
    for (const { name } of await this._list('api/terminals')) {
      await this._request.delete(`api/terminals/${name}`);
    }
  }

  /** End the notebooks' kernels. */
  async closeSessions(): Promise<void> {
    for (const { id } of await this._list('api/sessions')) {
      await this._request.delete(`api/sessions/${id}`);
    }
  }

  /** What a list of Jupyter's own has; nothing where it is switched off. */
  private async _list(path: string): Promise<{ name: string; id: string }[]> {
    const answer = await this._request.get(path);
    return answer.ok() ? await answer.json() : [];
  }

  private async _call(
    method: 'get' | 'post' | 'put',
    path: string,
    data?: unknown
  ): Promise<unknown> {
    const answer = await this._request[method](`jupyter-elastic/${path}`, {
      data
    });
    if (!answer.ok()) {
      throw new Error(
        `${method} ${path}: ${answer.status()} ${await answer.text()}`
      );
    }
    const text = await answer.text();
    return text === '' ? null : JSON.parse(text);
  }
}

/** Command lines of this machine's processes that contain all the words, by process id. */
export function processes(...words: string[]): Map<number, string> {
  const found = new Map<number, string>();
  for (const entry of fs
    .readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))) {
    try {
      const line = fs
        .readFileSync(`/proc/${entry}/cmdline`, 'utf8')
        .replace(/\0/g, ' ')
        .trim();
      if (words.every(word => line.includes(word))) {
        found.set(Number(entry), line);
      }
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}

/** Lines of a host file without comments. */
export function hostLines(file: string): string[] {
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.startsWith('#'));
}
