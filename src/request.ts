/**
 * One way to the server half: every answer is JSON or a {@link RequestError} that names its cause.
 */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** The part of the server's address that belongs to this extension. */
export const API_NAMESPACE = 'jupyter-elastic';

/**
 * What went wrong, as far as a person has to know:
 *
 * - `offline`: the Jupyter server does not answer
 * - `missing`: no such address (server half absent) or no such cluster
 * - `forbidden`: the person or the server may not do this
 * - `input`: a value cannot be accepted; `field` names it
 * - `limit`: a limit was reached
 * - `conflict`: something changed meanwhile, or a live run is in the way
 * - `backend`: the engine or the keeper does not answer
 * - `bug`: none of these
 */
export type RequestErrorKind =
  | 'offline'
  | 'missing'
  | 'forbidden'
  | 'input'
  | 'limit'
  | 'conflict'
  | 'backend'
  | 'bug';

/** A refusal or failure of the server half. */
export class RequestError extends Error {
  constructor(options: RequestError.IOptions) {
    super(options.message);
    this.name = 'RequestError';
    this.kind = options.kind;
    this.status = options.status ?? 0;
    this.code = options.code ?? '';
    this.hint = options.hint ?? '';
    this.detail = options.detail ?? {};
  }

  readonly kind: RequestErrorKind;
  readonly status: number;

  /** The server half's stable code; empty when something else answered. */
  readonly code: string;
  readonly hint: string;
  readonly detail: Readonly<Record<string, unknown>>;

  /** The path of the value that was refused, or ''. */
  get field(): string {
    const field = this.detail['field'];
    return typeof field === 'string' ? field : '';
  }

  /** Whether nothing of ours answered at this address. */
  get serverHalfMissing(): boolean {
    return this.kind === 'missing' && this.code === '';
  }
}

/** A namespace for `RequestError` statics. */
export namespace RequestError {
  export interface IOptions {
    kind: RequestErrorKind;
    message: string;
    status?: number;
    code?: string;
    hint?: string;
    detail?: Record<string, unknown>;
  }

  /** Wrap anything that was thrown. */
  export function from(error: unknown): RequestError {
    if (error instanceof RequestError) {
      return error;
    }
    const message = error instanceof Error ? error.message : String(error);
    return new RequestError({ kind: 'bug', message });
  }
}

/** What to send. */
export interface IRequest {
  method?: string;
  body?: object;
}

/** Call the server half and return the JSON it answers, or `undefined` for an empty answer. */
export async function request<T>(
  settings: ServerConnection.ISettings,
  path: string,
  { method = 'GET', body }: IRequest = {}
): Promise<T> {
  const response = await Private.fetch(settings, path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  });
  return Private.read<T>(response);
}

/**
 * Read something only if it is no longer what `tag` names. Adds no activity to what Jupyter has without us.
 */
export async function requestChanged<T>(
  settings: ServerConnection.ISettings,
  path: string,
  tag: string | null
): Promise<{ tag: string | null; body: T } | null> {
  const response = await Private.fetch(
    settings,
    `${path}?no_track_activity=1`,
    { method: 'GET', headers: tag === null ? {} : { 'If-None-Match': tag } }
  );
  if (response.status === 304) {
    return null;
  }
  const body = await Private.read<T>(response);
  return { tag: response.headers.get('ETag'), body };
}

namespace Private {
  const KINDS: Readonly<Record<number, RequestErrorKind>> = {
    400: 'input',
    401: 'forbidden',
    403: 'forbidden',
    404: 'missing',
    409: 'conflict',
    413: 'limit',
    422: 'limit',
    502: 'offline',
    503: 'offline',
    504: 'offline'
  };

  export async function fetch(
    settings: ServerConnection.ISettings,
    path: string,
    init: RequestInit
  ): Promise<Response> {
    const url = URLExt.join(settings.baseUrl, API_NAMESPACE, path);
    try {
      return await ServerConnection.makeRequest(url, init, settings);
    } catch (error) {
      if (error instanceof ServerConnection.NetworkError) {
        throw new RequestError({ kind: 'offline', message: error.message });
      }
      throw RequestError.from(error);
    }
  }

  export async function read<T>(response: Response): Promise<T> {
    const text = await response.text();
    const data = parse(text);
    if (!response.ok) {
      throw refusal(response, data);
    }
    if (data === undefined && text !== '') {
      throw new RequestError({
        kind: 'bug',
        status: response.status,
        message: 'The server half sent an answer that is not JSON.'
      });
    }
    return data as T;
  }

  function parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }

  function refusal(response: Response, data: unknown): RequestError {
    const { status } = response;
    const body = isRecord(data) ? data : {};
    const code = string(body['code']);
    const kind = KINDS[status] ?? 'bug';
    return new RequestError({
      // A proxy answers 502 to 504 by itself; with our code it is the engine that is silent.
      kind: kind === 'offline' && code ? 'backend' : kind,
      status,
      code,
      message:
        string(body['message']) || `${status} ${response.statusText}`.trim(),
      hint: string(body['hint']),
      detail: isRecord(body['detail']) ? body['detail'] : {}
    });
  }

  function string(value: unknown): string {
    return typeof value === 'string' ? value : '';
  }

  function isRecord(value: unknown): value is Record<string, unknown> {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }
}
