/* eslint-disable jupyter/no-untranslated-string -- what a server says is not translated here */
import {
  chosenEngine,
  exampleDraft,
  firstDraft,
  formField,
  toRequest,
  withEngine
} from '../createdraft';
import {
  formatBytes,
  formatCountdown,
  formatDuration,
  formatPath,
  parseWhole
} from '../format';
import { notebookCode } from '../notebookcode';
import { RequestError } from '../request';
import { isNewer, parseRevision, sliderEnd } from '../state';
import { bannerOfEngine, bannerOfProblem } from '../trouble';
import { joinWords, splitWords, UnclosedQuote } from '../words';
import { summaryWords } from '../wording';
import { makeCluster, makeContainer, makeOptions, trans } from './fixtures';

describe('words', () => {
  it.each<[string, string[]]>([
    ['', []],
    ['  --epochs 3 ', ['--epochs', '3']],
    ['--name "two words" \'a"b\'', ['--name', 'two words', 'a"b']],
    ["''", ['']],
    ['a\\ b "c\\"d" "e\\f"', ['a b', 'c"d', 'e\\f']],
    ['$(id) `id` ;|&', ['$(id)', '`id`', ';|&']]
  ])('splits %j', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it('refuses an open quote', () => {
    expect(() => splitWords('a "b')).toThrow(UnclosedQuote);
  });

  it.each([['a'], ['a b'], [''], ["it's"], ['\\'], ['"q"'], ['a\tb']])(
    'shows %j so that it is read the same',
    word => {
      expect(splitWords(joinWords([word, 'x']))).toEqual([word, 'x']);
    }
  );
});

describe('the slider', () => {
  it('ends where a hand can still set it', () => {
    const at = (target: number, size: number): number =>
      sliderEnd(makeCluster({ target, limit: { size, text: '' } }));
    expect(at(2, 8)).toBe(8);
    expect(at(2, 1000)).toBe(16);
    expect(at(20, 1000)).toBe(40);
    expect(at(900, 1000)).toBe(1000);
    expect(at(4, 2)).toBe(4);
  });
});

describe('format', () => {
  it('shows paths as the file browser does', () => {
    expect(formatPath('/root/a/b.py', '/root')).toBe('a/b.py');
    expect(formatPath('/root/a/b.py', '/root/')).toBe('a/b.py');
    expect(formatPath('/rootless/b.py', '/root')).toBe('/rootless/b.py');
    expect(formatPath('b.py', '')).toBe('b.py');
    expect(formatPath('/b.py', '/')).toBe('b.py');
  });

  it('shows times with their units', () => {
    expect(formatDuration(12.9, trans)).toBe('12 s');
    expect(formatDuration(250, trans)).toBe('4 min 10 s');
    expect(formatDuration(7500, trans)).toBe('2 h 5 min');
    expect(formatDuration(200_000, trans)).toBe('2 d 7 h');
    expect(formatDuration(-5, trans)).toBe('0 s');
    expect(formatCountdown(47.2)).toBe('0:48');
    expect(formatCountdown(-1)).toBe('0:00');
  });

  it('shows memory', () => {
    expect(formatBytes(0)).toBe('0 B');
    expect(formatBytes(16 * 2 ** 30)).toBe('16.0 GiB');
  });

  it.each([
    ['4', 4],
    [' 08 ', 8],
    ['', null],
    ['-1', null],
    ['2.5', null],
    ['1e9', null],
    ['abc', null],
    ['12345678901', null]
  ])('reads %j as %j', (text, value) => {
    expect(parseWhole(text)).toBe(value);
  });
});

describe('revision', () => {
  it('is read from its text', () => {
    expect(parseRevision('a-b-12')).toEqual({ epoch: 'a-b', n: 12 });
    expect(parseRevision('12')).toBeNull();
    expect(parseRevision(12)).toBeNull();
  });

  it('is newer in the same epoch when n grew', () => {
    const known = { epoch: 'a', n: 5 };
    expect(isNewer({ epoch: 'a', n: 6 }, known)).toBe(true);
    expect(isNewer({ epoch: 'a', n: 5 }, known)).toBe(false);
    expect(isNewer({ epoch: 'b', n: 1 }, known)).toBe(true);
    expect(isNewer(known, null)).toBe(true);
  });
});

describe('the create form', () => {
  const options = makeOptions();

  it('begins with what there is, under a free name', () => {
    const draft = firstDraft(options, ['training', 'training-2']);
    expect(draft).toMatchObject({
      name: 'training-3',
      framework: 'horovod',
      size: '2',
      engine: 'local',
      useGpu: false
    });
  });

  it('fills in the example', () => {
    expect(exampleDraft(options, [])).toMatchObject({
      name: 'tthvd',
      framework: 'horovod',
      size: '2',
      script: '/root/tensorflow2_mnist.py'
    });
  });

  it('sends only what the engine has', () => {
    const draft = {
      ...firstDraft(options, []),
      image: 'old',
      sharedMemory: '8',
      storage: ['x'],
      cpu: '4',
      env: [['A', 'b']],
      useGpu: true
    };
    const { request, problems } = toRequest(options, draft, trans);
    expect(problems).toEqual({});
    expect(JSON.parse(JSON.stringify(request))).toEqual({
      name: 'training',
      framework: 'horovod',
      size: 2,
      engine: 'local',
      gpus_per_container: 0
    });
  });

  it.each(['0', '1', '-1', '', '2.5', '1e9', 'true', '9'])(
    'names what is wrong with the size %j',
    size => {
      const draft = { ...firstDraft(options, []), size };
      const { request, problems } = toRequest(options, draft, trans);
      expect(request).toBeNull();
      expect(problems.size).toBeTruthy();
    }
  );

  it('forgets what belonged to another engine', () => {
    const kube = {
      ...options.engines[0],
      name: 'kubernetes',
      images: ['tf:2.15'],
      shared_memory: true,
      gpu_kinds: [{ name: 'P4', total: 8, free: 6 }]
    };
    const both = { ...options, engines: [options.engines[0], kube] };
    const draft = withEngine(
      both,
      { ...firstDraft(both, []), name: 'n' },
      'kubernetes'
    );
    expect(chosenEngine(both, draft)?.name).toBe('kubernetes');
    const { request } = toRequest(
      both,
      { ...draft, sharedMemory: '8', gpus: '2' },
      trans
    );
    expect(request).toMatchObject({
      name: 'n',
      engine: 'kubernetes',
      image: 'tf:2.15',
      shared_memory: 8 * 2 ** 30,
      gpus_per_container: 2,
      gpu_kind: 'P4'
    });
  });

  it("knows the server's names of its fields", () => {
    expect(formField('gpus_per_container')).toBe('gpus');
    expect(formField('env[0].name')).toBe('env');
    expect(formField('nothing')).toBeNull();
  });
});

describe('troubles', () => {
  const problem = (values: Partial<RequestError.IOptions>): RequestError =>
    new RequestError({ kind: 'bug', message: 'Why.', ...values });

  it('say how to check a missing server half', () => {
    const trouble = bannerOfProblem(problem({ kind: 'missing' }), '', trans);
    expect(trouble.text).toContain('server half');
    expect(trouble.command).toBe('jupyter server extension list');
  });

  it('say what is shown while nobody answers', () => {
    const trouble = bannerOfProblem(
      problem({ kind: 'offline' }),
      '12:03',
      trans
    );
    expect(trouble.hint).toContain('12:03');
  });

  it('pass on why something is forbidden', () => {
    const trouble = bannerOfProblem(problem({ kind: 'forbidden' }), '', trans);
    expect(trouble.text).toContain('Why.');
  });

  it.each(['stale', 'forbidden', 'unauthenticated', 'gone', 'failed'] as const)(
    'name an engine that is %s',
    state => {
      const health = { state, since: 1000, text: 'missing "create pods".' };
      const engine = { name: 'kubernetes', title: 'Kubernetes', health };
      const trouble = bannerOfEngine(engine, trans);
      expect(trouble?.text).toContain('Kubernetes');
      expect(trouble?.hint).toContain('create pods');
    }
  );

  it('are none while an engine is live', () => {
    const health = { state: 'live' as const, since: 1000, text: '' };
    const engine = { name: 'local', title: 'This machine', health };
    expect(bannerOfEngine(engine, trans)).toBeNull();
  });
});

describe('words for a cluster', () => {
  it('sum containers and GPUs', () => {
    const gpu = { index: 0, name: 'NVIDIA P4', memory_bytes: null };
    const container = makeContainer({ gpus: [gpu] });
    const cluster = makeCluster({ containers: [container, container] });
    expect(summaryWords([cluster], trans)).toBe('2/2 containers · 2 GPUs');
    expect(summaryWords([makeCluster()], trans)).toBe('2/2 containers');
  });

  it('make it again in a notebook', () => {
    const cluster = makeCluster({ name: 'two words' });
    expect(notebookCode(cluster)).toBe(
      '%load_ext jupyter_elastic\n' +
        "%elastic_create 'two words' --size 2 --framework horovod " +
        '--engine local --script /root/train.py\n'
    );
  });
});
