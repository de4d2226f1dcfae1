import type { Event as JupyterEvent } from '@jupyterlab/services';
import { waitFor } from '@testing-library/react';
import { Signal } from '@lumino/signaling';
import { ElasticApi } from '../api';
import { ElasticModel, EVENT_SCHEMA } from '../model';
import {
  FakeServer,
  makeCluster,
  makeLaunch,
  makeRun,
  makeState,
  pause,
  setVisibility
} from './fixtures';

const ID = 'tthvd-abc234';

describe('ElasticModel', () => {
  let server: FakeServer;
  let model: ElasticModel;
  let connected: boolean;
  let events: Signal<object, JupyterEvent.Emission>;

  const emit = (revision: string, schema = EVENT_SCHEMA): void =>
    events.emit({ schema_id: schema, cluster: ID, revision });

  beforeEach(() => {
    setVisibility('visible');
    server = new FakeServer();
    connected = true;
    events = new Signal<object, JupyterEvent.Emission>({});
    model = new ElasticModel({
      api: new ElasticApi(server.settings),
      events,
      isConnected: () => connected
    });
  });

  afterEach(() => {
    model.dispose();
    setVisibility('visible');
  });

  const started = async (): Promise<void> => {
    model.start();
    await waitFor(() => expect(model.state).not.toBeNull());
    await waitFor(() => expect(model.options).not.toBeNull());
  };

  it('asks nothing before it is started', async () => {
    await pause(50);
    expect(server.seen).toHaveLength(0);
  });

  it('reads the state and what there is', async () => {
    await started();
    expect(model.selected?.name).toBe('tthvd');
    expect(model.options?.default_engine).toBe('local');
    expect(model.asOf).not.toBeNull();
  });

  it('asks with the tag of what it knows', async () => {
    await started();
    await model.refresh();
    const last = server.seen[server.seen.length - 1];
    expect(last.headers.get('If-None-Match')).toBe('"aa-1"');
  });

  it('reads again when an event names a newer revision', async () => {
    await started();
    server.state = makeState(2, [makeCluster({ ready: 1 })]);
    emit('aa-2');
    await waitFor(() => expect(model.state?.revision.n).toBe(2));
    expect(model.selected?.ready).toBe(1);
  });

  it('reads once for a burst of events', async () => {
    await started();
    const before = server.count('GET clusters');
    server.state = makeState(9);
    ['aa-2', 'aa-5', 'aa-9'].forEach(revision => emit(revision));
    await waitFor(() => expect(model.state?.revision.n).toBe(9));
    await pause(150);
    expect(server.count('GET clusters')).toBe(before + 1);
  });

  it('takes a new epoch for news', async () => {
    await started();
    server.state = makeState(1, [], 'bb');
    emit('bb-1');
    await waitFor(() => expect(model.clusters).toHaveLength(0));
  });

  it.each(['aa-1', 'aa-0', 'nonsense'])(
    'does not read for the event %s',
    async revision => {
      await started();
      const before = server.count('GET clusters');
      emit(revision);
      emit('aa-9', 'https://elsewhere/v1');
      await pause(200);
      expect(server.count('GET clusters')).toBe(before);
    }
  );

  it('drops an answer that was overtaken', async () => {
    await started();
    const held: (() => void)[] = [];
    server.held = held;
    server.state = makeState(2);
    void model.refresh();
    await waitFor(() => expect(held).toHaveLength(1));
    server.state = makeState(3);
    void model.refresh();
    await waitFor(() => expect(held).toHaveLength(2));
    held[1]();
    await waitFor(() => expect(model.state?.revision.n).toBe(3));
    held[0]();
    await pause(50);
    expect(model.state?.revision.n).toBe(3);
  });

  it('keeps the draft while the state is read', async () => {
    await started();
    model.setDraft(ID, 5);
    server.state = makeState(2, [makeCluster({ target: 3, ready: 1 })]);
    await model.refresh();
    expect(model.selected?.target).toBe(3);
    expect(model.draft(ID)).toBe(5);
  });

  it('forgets a draft that became the target, or whose cluster is gone', async () => {
    await started();
    model.setDraft(ID, 5);
    server.state = makeState(2, [makeCluster({ target: 5 })]);
    await model.refresh();
    expect(model.draft(ID)).toBeNull();
    model.setDraft(ID, 6);
    server.state = makeState(3, []);
    await model.refresh();
    expect(model.draft(ID)).toBeNull();
  });

  it('shows another cluster when the selected one is gone', async () => {
    const other = makeCluster({ id: 'other-xyz', name: 'other' });
    server.state = makeState(1, [makeCluster(), other]);
    await started();
    model.select('other-xyz');
    expect(model.selected?.name).toBe('other');
    server.state = makeState(2);
    await model.refresh();
    expect(model.selected?.name).toBe('tthvd');
  });

  it('keeps the last state when the server is silent, and recovers', async () => {
    await started();
    server.answer('GET clusters', { code: 'unreachable', message: 'No.' }, 503);
    await model.refresh();
    expect(model.problem?.kind).toBe('backend');
    expect(model.clusters).toHaveLength(1);
    server.answers.clear();
    await model.refresh();
    expect(model.problem).toBeNull();
  });

  it('notices that the server half was replaced', async () => {
    await started();
    server.state = { ...makeState(1, [], 'bb'), version: '0.2.0' };
    await model.refresh();
    expect(model.serverReplaced).toBe(true);
  });

  it('asks nothing while the page is hidden, and at once when it is shown', async () => {
    await started();
    setVisibility('hidden');
    const before = server.seen.length;
    server.state = makeState(2);
    emit('aa-2');
    await model.refresh();
    await pause(200);
    expect(server.seen).toHaveLength(before);
    setVisibility('visible');
    await waitFor(() => expect(model.state?.revision.n).toBe(2));
  });

  it('asks nothing while there is no connection', async () => {
    await started();
    connected = false;
    const before = server.seen.length;
    await model.refresh();
    await pause(50);
    expect(server.seen).toHaveLength(before);
  });

  it('reads the command only while the panel can be seen, and once per change', async () => {
    server.answer(`GET clusters/${ID}/launch`, makeLaunch());
    await started();
    await pause(50);
    expect(server.count(`GET clusters/${ID}/launch`)).toBe(0);
    model.setPanelVisible(true);
    await waitFor(() => expect(model.launch?.program).toBe('horovodrun'));
    await model.refresh();
    model.setDraft(ID, 4);
    expect(server.count(`GET clusters/${ID}/launch`)).toBe(1);
    server.state = makeState(2, [makeCluster({ np: 3 })]);
    await model.refresh();
    await waitFor(() =>
      expect(server.count(`GET clusters/${ID}/launch`)).toBe(2)
    );
  });

  it('samples only with a live run and an open panel', async () => {
    const path = `GET clusters/${ID}/metrics`;
    const sample = {
      container: 'tthvd-0',
      cpu_percent: 50,
      memory_bytes: 1,
      gpu_percent: [],
      gpu_memory_bytes: []
    };
    server.answer(path, { samples: [sample] });
    await started();
    model.setPanelVisible(true);
    await pause(80);
    expect(server.count(path)).toBe(0);
    server.state = makeState(2, [makeCluster({ runs: [makeRun()] })]);
    await model.refresh();
    await waitFor(() => expect(model.samples).toHaveLength(1));
    model.setPanelVisible(false);
    expect(model.samples).toHaveLength(0);
    expect(server.count(path)).toBe(1);
  });

  it('reads less often when the settings say so, never more than each 5 s', () => {
    model.setAppearance({
      refreshSeconds: 1,
      confirmShrink: true,
      showGpus: false
    });
    expect(model.appearance.confirmShrink).toBe(true);
    expect(() => model.dispose()).not.toThrow();
    expect(model.isDisposed).toBe(true);
  });
});
