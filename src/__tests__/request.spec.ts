import { ServerConnection } from '@jupyterlab/services';
import type { RequestErrorKind } from '../request';
import { request, requestChanged, RequestError } from '../request';
import { BASE } from './fixtures';

function settingsFor(
  answer: (request: Request) => Promise<Response>
): ServerConnection.ISettings {
  return ServerConnection.makeSettings({
    baseUrl: BASE,
    appendToken: false,
    fetch: (input, init) => answer(new Request(input, init))
  });
}

function settingsWith(
  status: number,
  body: unknown
): ServerConnection.ISettings {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return settingsFor(async () => new Response(text, { status }));
}

async function failure(promise: Promise<unknown>): Promise<RequestError> {
  const error = await promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error
  );
  expect(error).toBeInstanceOf(RequestError);
  return error as RequestError;
}

describe('request', () => {
  it('keeps the base URL, however odd', async () => {
    let url = '';
    const settings = settingsFor(async request => {
      url = request.url;
      return new Response('{"a": 1}');
    });
    expect(await request(settings, 'clusters')).toEqual({ a: 1 });
    expect(url).toMatch(
      /^http:\/\/localhost\/a%40b\/jupyter-elastic\/clusters/
    );
  });

  it('sends JSON', async () => {
    let seen: unknown;
    const settings = settingsFor(async request => {
      seen = [request.method, await request.json()];
      return new Response('{}', { status: 201 });
    });
    await request(settings, 'clusters', { method: 'POST', body: { size: 2 } });
    expect(seen).toEqual(['POST', { size: 2 }]);
  });

  it('takes an empty answer', async () => {
    const settings = settingsFor(
      async () => new Response(null, { status: 204 })
    );
    expect(
      await request(settings, 'refresh', { method: 'POST' })
    ).toBeUndefined();
  });

  it.each<[number, string, RequestErrorKind]>([
    [400, 'bad_input', 'input'],
    [401, '', 'forbidden'],
    [403, 'forbidden', 'forbidden'],
    [404, 'not_found', 'missing'],
    [409, 'conflict', 'conflict'],
    [413, 'too_large', 'limit'],
    [422, 'limit', 'limit'],
    [500, 'bug', 'bug'],
    [503, 'unreachable', 'backend']
  ])('names the cause of %i %s', async (status, code, kind) => {
    const body = { code, message: 'No.', hint: 'Ask.', detail: { field: 'x' } };
    const error = await failure(request(settingsWith(status, body), 'a'));
    expect(error).toMatchObject({
      kind,
      status,
      code,
      message: 'No.',
      hint: 'Ask.',
      field: 'x'
    });
  });

  it("tells a proxy's silence from the engine's", async () => {
    const error = await failure(
      request(settingsWith(503, '<html>no server</html>'), 'clusters')
    );
    expect(error.kind).toBe('offline');
  });

  it('tells a missing server half from a missing cluster', async () => {
    const half = await failure(
      request(settingsWith(404, '<html>404</html>'), 'clusters')
    );
    expect(half.serverHalfMissing).toBe(true);
    const body = { code: 'not_found', message: 'No such cluster.' };
    const cluster = await failure(
      request(settingsWith(404, body), 'clusters/x')
    );
    expect(cluster.serverHalfMissing).toBe(false);
  });

  it('says offline when nothing answers', async () => {
    const settings = settingsFor(async () => {
      throw new TypeError('Failed to fetch');
    });
    expect((await failure(request(settings, 'a'))).kind).toBe('offline');
  });

  it('says bug when the answer is no JSON', async () => {
    const error = await failure(request(settingsWith(200, '<html>'), 'a'));
    expect(error.kind).toBe('bug');
  });
});

describe('requestChanged', () => {
  it('asks with the tag and takes 304 for no news', async () => {
    let seen: Request | undefined;
    const settings = settingsFor(async request => {
      seen = request;
      return new Response(null, { status: 304 });
    });
    expect(await requestChanged(settings, 'clusters', '"aa-1"')).toBeNull();
    expect(seen?.headers.get('If-None-Match')).toBe('"aa-1"');
    expect(seen?.url).toContain('no_track_activity=1');
  });

  it('returns the new tag with the news', async () => {
    const settings = settingsFor(
      async () => new Response('{"n": 2}', { headers: { ETag: '"aa-2"' } })
    );
    expect(await requestChanged(settings, 'clusters', null)).toEqual({
      tag: '"aa-2"',
      body: { n: 2 }
    });
  });
});
