import { Notification } from '@jupyterlab/apputils';
import { CommandRegistry } from '@lumino/commands';
import { waitFor } from '@testing-library/react';
import { ElasticActions } from '../actions';
import type { ICluster } from '../api';
import { LaunchTerminals } from '../launching';
import type { ElasticModel } from '../model';
import { DEFAULT_APPEARANCE } from '../model';
import { ScaleProgress } from '../progress';
import type { FakeServer } from './fixtures';
import {
  makeCluster,
  makeContainer,
  makeLaunch,
  makePlan,
  makeRun,
  makeState,
  trans
} from './fixtures';
import { makeModel } from './stand';

const ID = 'tthvd-abc234';
const PLAN = `POST clusters/${ID}/plan`;
const TARGET = `PUT clusters/${ID}/target`;

/** Wait for the question, drawn in full, and return its words. */
async function question(): Promise<string> {
  return waitFor(() => {
    const words = ['header', 'body', 'footer'].map(
      part => document.querySelector(`.jp-Dialog-${part}`)?.textContent ?? ''
    );
    expect(words).not.toContain('');
    return words.join(' ');
  });
}

/** Answer the question, and wait until it is gone. */
async function answer(kind: 'accept' | 'reject'): Promise<void> {
  await question();
  const dialog = document.querySelector('.jp-Dialog');
  dialog?.querySelector<HTMLElement>(`button.jp-mod-${kind}`)?.click();
  await waitFor(() => expect(dialog?.isConnected).toBe(false));
}

describe('ElasticActions', () => {
  let model: ElasticModel;
  let server: FakeServer;
  let actions: ElasticActions;
  let progress: ScaleProgress;

  const begin = async (values: Partial<ICluster> = {}): Promise<void> => {
    ({ model, server } = await makeModel([makeCluster(values)]));
    const commands = new CommandRegistry();
    const terminals = new LaunchTerminals({
      api: model.api,
      commands,
      opened: () => undefined,
      terminals: {
        refreshRunning: async () => undefined,
        running: () => [][Symbol.iterator]()
      },
      trans
    });
    progress = new ScaleProgress({ model, trans, undo: () => undefined });
    actions = new ElasticActions({ model, progress, terminals, trans });
    server.answer(PLAN, makePlan());
    server.answer(TARGET, makePlan(), 202);
    Notification.dismiss();
  };

  afterEach(() => {
    progress.dispose();
    model.dispose();
  });

  const messages = (): string[] =>
    Notification.manager.notifications.map(item => item.message);

  const grown = (values: Partial<ICluster> = {}): void => {
    const cluster = makeCluster({ target: 4, state: 'scaling', ...values });
    server.state = makeState(server.state.revision.n + 1, [cluster]);
  };

  it('scale from the panel without a question', async () => {
    await begin();
    model.setDraft(ID, 4);
    grown();
    expect(await actions.scale(ID, 4, { ask: false })).toBe(true);
    expect(server.body(TARGET)).toEqual({ size: 4 });
    expect(model.draft(ID)).toBeNull();
  });

  it('follow a change until it is settled, in one message', async () => {
    await begin();
    grown();
    await actions.scale(ID, 4, { ask: false });
    expect(messages()).toEqual(['tthvd: 2 of 4 containers ready']);
    grown({ ready: 3 });
    await model.refresh();
    const [message] = Notification.manager.notifications;
    expect(message).toMatchObject({
      message: 'tthvd: 3 of 4 containers ready',
      type: 'in-progress',
      options: { progress: 0.5 }
    });
    const last = { previous: 2, target: 4, at: 1, by: 'me', undo: true };
    grown({ ready: 4, state: 'ready', last_change: last });
    await model.refresh();
    expect(Notification.manager.notifications).toHaveLength(1);
    const settled = Notification.manager.notifications[0];
    expect(settled.type).toBe('success');
    expect(settled.options.actions?.map(action => action.label)).toEqual([
      'Undo'
    ]);
  });

  it('say why a change is stuck', async () => {
    await begin();
    grown();
    await actions.scale(ID, 4, { ask: false });
    const reason = { code: 'quota', text: 'Quota team-a: 2.', detail: '' };
    grown({ state: 'degraded', reason });
    await model.refresh();
    const [message] = Notification.manager.notifications;
    expect(message.type).toBe('error');
    expect(message.message).toBe('tthvd: Quota team-a: 2.');
  });

  it('ask with the plan when they came from elsewhere', async () => {
    await begin();
    const done = actions.scale(ID, 4, { ask: true });
    const text = await question();
    expect(text).toContain('Scale tthvd to 4 containers?');
    expect(text).toContain('+2 containers. 2 start now.');
    expect(text).toContain('Add 2 containers');
    await answer('reject');
    expect(await done).toBe(false);
    expect(server.count(TARGET)).toBe(0);
  });

  it('ask and force when a run would end', async () => {
    await begin();
    const remove = ['tthvd-x7k2p'];
    server.answer(PLAN, makePlan({ confirm: true, add: 0, remove, target: 1 }));
    const done = actions.scale(ID, 1, { ask: false });
    const text = await question();
    expect(text).toContain('tthvd-x7k2p');
    expect(text).toContain('Remove 1 worker');
    await answer('accept');
    expect(await done).toBe(true);
    expect(server.body(TARGET)).toEqual({ size: 1, force: true });
  });

  it('ask before every shrink when the settings say so', async () => {
    await begin();
    model.setAppearance({ ...DEFAULT_APPEARANCE, confirmShrink: true });
    const done = actions.scale(ID, 1, { ask: false });
    await answer('reject');
    expect(await done).toBe(false);
  });

  it('list what goes before a release', async () => {
    const gpu = { index: 0, name: 'P4', memory_bytes: null };
    await begin({
      containers: [makeContainer({ gpus: [gpu] })],
      runs: [makeRun()]
    });
    server.answer(`DELETE clusters/${ID}`, {}, 202);
    const done = actions.release(ID);
    const text = await question();
    expect(text).toContain('tthvd-0');
    expect(text).toContain('1 GPU is given back.');
    expect(text).toContain('horovodrun -np 2 python train.py');
    expect(text).toContain('Stop 1 run and release');
    await answer('accept');
    expect(await done).toBe(true);
    expect(messages()).toContain('The cluster is being released.');
  });

  it('ask again when a run began meanwhile', async () => {
    await begin();
    server.answer(
      `DELETE clusters/${ID}`,
      { code: 'live_run', message: 'A run lives.' },
      409
    );
    server.state = makeState(2, [makeCluster({ runs: [makeRun()] })]);
    const done = actions.release(ID);
    await answer('accept');
    expect(await question()).toContain('Stop 1 run and release');
    await answer('reject');
    expect(await done).toBe(false);
  });

  it('undo as a change of its own', async () => {
    const last = { previous: 4, target: 2, at: 1, by: 'me', undo: true };
    await begin({ last_change: last });
    server.answer(`POST clusters/${ID}/undo`, makePlan(), 202);
    expect(await actions.undo(ID, { ask: false })).toBe(true);
    expect(server.count(`POST clusters/${ID}/undo`)).toBe(1);
  });

  it('refuse to undo nothing', async () => {
    await begin();
    await expect(actions.undo(ID, { ask: false })).rejects.toMatchObject({
      kind: 'conflict'
    });
  });

  it('remove a container after a question with its plan', async () => {
    await begin();
    const path = `DELETE clusters/${ID}/containers/tthvd-x7k2p`;
    server.answer(path, makePlan(), 202);
    const done = actions.removeContainer(ID, 'tthvd-x7k2p', false);
    await answer('accept');
    expect(await done).toBe(true);
    expect(server.body(PLAN)).toEqual({ size: 1, victims: ['tthvd-x7k2p'] });
    expect(server.count(path)).toBe(1);
  });

  it('offer to copy where there are no terminals', async () => {
    await begin();
    const opened = { name: '1', shell: 's', launch: makeLaunch() };
    server.answer(`POST clusters/${ID}/terminals`, opened, 201);
    await actions.openLaunchTerminal(ID);
    const [message] = Notification.manager.notifications;
    expect(message.message).toBe('Terminals cannot be opened here.');
    expect(message.options.actions?.map(action => action.label)).toEqual([
      'Copy command'
    ]);
  });

  it('report a refusal with what to do', async () => {
    await begin();
    server.answer(
      PLAN,
      { code: 'limit', message: 'At most 6.', hint: 'Ask ops.' },
      422
    );
    await actions
      .scale(ID, 7, { ask: false })
      .catch((error: unknown) => actions.report(error));
    expect(messages()).toEqual(['At most 6. Ask ops.']);
  });
});
