/* eslint-disable jupyter/no-untranslated-string -- what JupyterLab says is not translated here */
import { Signal } from '@lumino/signaling';
import { Title, Widget } from '@lumino/widgets';
import type { IShell, IState } from '../api';
import type { ElasticModel } from '../model';
import type { ITerminals, TerminalWidget } from '../titles';
import { shows, TerminalTitles } from '../titles';
import type { FakeServer } from './fixtures';
import { makeCluster, makeRun, makeState, trans } from './fixtures';
import { makeModel } from './stand';

const SHELL: IShell = {
  id: 'abc123',
  cwd: '/root/work',
  started: 1000,
  pid: 7,
  attached: 1,
  run: null
};

/** As much of a terminal in the main area as titles need. */
function makeTerminal(name: string): TerminalWidget {
  const owner = new Widget();
  const content = {
    isDisposed: false,
    session: { name },
    title: new Title({ owner, label: `Terminal ${name}` })
  };
  const disposed = new Signal<object, void>({});
  return { content, disposed, isDisposed: false } as unknown as TerminalWidget;
}

/** JupyterLab's tracker, with nothing but its list. */
class FakeTracker implements ITerminals {
  readonly widgetAdded = new Signal<this, TerminalWidget>(this);

  constructor(private _widgets: TerminalWidget[] = []) {}

  forEach(visit: (widget: TerminalWidget) => void): void {
    this._widgets.forEach(visit);
  }

  add(widget: TerminalWidget): void {
    this._widgets.push(widget);
    this.widgetAdded.emit(widget);
  }
}

describe('TerminalTitles', () => {
  let model: ElasticModel;
  let server: FakeServer;
  let tracker: FakeTracker;
  let titles: TerminalTitles;

  const begin = async (
    shells: IShell[],
    open: TerminalWidget[] = []
  ): Promise<void> => {
    ({ model, server } = await makeModel([makeCluster({ shells })]));
    tracker = new FakeTracker(open);
    titles = new TerminalTitles({ model, terminals: tracker, trans });
  };

  const next = async (change: (state: IState) => void): Promise<void> => {
    const state = makeState(server.state.revision.n + 1);
    change(state);
    server.state = state;
    await model.refresh();
  };

  const label = (widget: TerminalWidget): string => widget.content.title.label;

  afterEach(() => {
    titles.dispose();
    model.dispose();
  });

  it('names a terminal after its cluster and program', async () => {
    await begin([SHELL]);
    const widget = makeTerminal('elastic_abc123');
    tracker.add(widget);
    expect(label(widget)).toBe('tthvd: horovodrun');
    expect(widget.content.title.caption).toContain('/root/work');
  });

  it('finds the program though the options come last', async () => {
    await begin([SHELL]);
    const options = jest.spyOn(model, 'options', 'get').mockReturnValue(null);
    const widget = makeTerminal('elastic_abc123');
    tracker.add(widget);
    expect(label(widget)).toBe('tthvd: horovod');
    options.mockRestore();
    await model.refreshOptions();
    expect(label(widget)).toBe('tthvd: horovodrun');
  });

  it('keeps the name when JupyterLab or the prompt sets another', async () => {
    await begin([SHELL]);
    const widget = makeTerminal('elastic_abc123');
    tracker.add(widget);
    widget.content.title.label = 'Terminal elastic_abc123';
    expect(label(widget)).toBe('tthvd: horovodrun');
  });

  it('names terminals that were restored before, also a second one', async () => {
    const restored = ['elastic_abc123', 'elastic_abc123_2'].map(makeTerminal);
    await begin([SHELL], restored);
    expect(restored.map(label)).toEqual([
      'tthvd: horovodrun',
      'tthvd: horovodrun'
    ]);
  });

  it('leaves other terminals alone', async () => {
    const others = ['1', 'elastic', 'my_elastic_abc'].map(makeTerminal);
    await begin([SHELL], others);
    expect(others.map(label)).toEqual([
      'Terminal 1',
      'Terminal elastic',
      'Terminal my_elastic_abc'
    ]);
  });

  it('takes the program of the run that lives there', async () => {
    await begin([SHELL]);
    const widget = makeTerminal('elastic_abc123');
    tracker.add(widget);
    const run = makeRun({ shell: 'abc123', program: 'torchrun' });
    await next(state => {
      state.clusters = [makeCluster({ shells: [SHELL], runs: [run] })];
    });
    expect(label(widget)).toBe('tthvd: torchrun');
  });

  it('knows a new terminal before the state does', async () => {
    await begin([]);
    titles.opened('abc123', { cluster: 'tthvd', program: 'horovodrun' });
    const widget = makeTerminal('elastic_abc123');
    tracker.add(widget);
    expect(label(widget)).toBe('tthvd: horovodrun');
    await next(() => undefined);
    expect(label(widget)).toBe('tthvd: horovodrun');
  });

  it('marks a terminal whose shell has ended', async () => {
    const restored = makeTerminal('elastic_gone1');
    await begin([SHELL], [restored]);
    expect(label(restored)).toBe('Shell has ended');
    expect(restored.content.title.caption).toBe(
      'This shell has ended. Launch opens a new one.'
    );
    const widget = makeTerminal('elastic_abc123');
    tracker.add(widget);
    await next(state => {
      state.clusters = [];
    });
    expect(label(widget)).toBe('tthvd: horovodrun (ended)');
  });

  it('does not call a shell ended that nobody could tell about', async () => {
    const restored = makeTerminal('elastic_abc123');
    await begin([], []);
    await next(state => {
      state.engines[0].health = { state: 'starting', since: 1, text: '' };
    });
    tracker.add(restored);
    expect(label(restored)).toBe('Launch terminal');
    await next(state => {
      state.clusters[0].hostfile.frozen_since = 1000;
    });
    expect(label(restored)).toBe('Launch terminal');
    await next(state => {
      state.clusters[0].shells = [SHELL];
    });
    expect(label(restored)).toBe('tthvd: horovodrun');
  });
});

describe('the name of a terminal', () => {
  it('tells its shell', () => {
    expect(shows('elastic_3a930a8c', '3a930a8c')).toBe(true);
    expect(shows('elastic_3a930a8c_2', '3a930a8c')).toBe(true);
    expect(shows('elastic_shell_1', 'shell-1')).toBe(true);
    expect(shows('elastic_3a930a8c', '3a93')).toBe(false);
    expect(shows('1', '1')).toBe(false);
  });
});
