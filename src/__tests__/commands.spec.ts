import { JupyterFrontEnd } from '@jupyterlab/application';
import { CommandRegistry } from '@lumino/commands';
import { waitFor } from '@testing-library/react';
import { addClusterCommands } from '../commands/clusters';
import type { ICommandContext } from '../commands/context';
import { addDetailCommands } from '../commands/details';
import { addScaleCommands, nextSize } from '../commands/scaling';
import { argumentSchema, BadArguments, readArguments } from '../guards';
import type { ElasticModel } from '../model';
import type { IElasticActions } from '../tokens';
import { CommandIDs, PANEL_ID } from '../tokens';
import type { FakeServer } from './fixtures';
import { makeCluster, makeState, trans } from './fixtures';
import { makeActions, makeModel } from './stand';

const ID = 'tthvd-abc234';

describe('readArguments', () => {
  it('takes ids and whole numbers', () => {
    const args = { cluster: ID, container: 'tthvd-0', run: 'r1', size: 4 };
    expect(readArguments(args)).toEqual(args);
    expect(readArguments({})).toEqual({});
  });

  it.each([
    [{ size: 0 }],
    [{ size: -1 }],
    [{ size: 2.5 }],
    [{ size: '3' }],
    [{ size: true }],
    [{ size: 1e300 }],
    [{ cluster: '' }],
    [{ cluster: 7 }],
    [{ cluster: '../x' }],
    [{ container: 'a;rm' }],
    [{ run: 'a\nb' }]
  ])('refuses %j', args => {
    expect(() => readArguments(args)).toThrow(BadArguments);
  });

  it('describes them', () => {
    expect(argumentSchema(['cluster', 'size'], ['size'])).toMatchObject({
      type: 'object',
      required: ['size'],
      properties: { size: { type: 'integer', minimum: 1 } }
    });
  });
});

describe('nextSize', () => {
  it('follows the sizes that can train, within the limit', () => {
    const cluster = makeCluster({ target: 4, valid_sizes: [1, 2, 4, 8] });
    expect(nextSize(cluster, 1)).toBe(8);
    expect(nextSize(cluster, -1)).toBe(2);
    expect(nextSize(makeCluster({ target: 1 }), -1)).toBeNull();
    expect(nextSize(makeCluster({ target: 8 }), 1)).toBeNull();
  });
});

describe('commands', () => {
  let commands: CommandRegistry;
  let model: ElasticModel;
  let server: FakeServer;
  let actions: jest.Mocked<IElasticActions>;
  let activated: string[];
  let scripts: string[];

  beforeEach(async () => {
    commands = new CommandRegistry();
    activated = [];
    scripts = [];
    ({ model, server } = await makeModel([makeCluster()]));
    actions = makeActions();
    const shell = { activateById: (id: string) => activated.push(id) };
    const context: ICommandContext = {
      app: { commands, shell } as unknown as JupyterFrontEnd,
      model,
      actions,
      scripts: () => scripts,
      trans
    };
    addClusterCommands(context);
    addScaleCommands(context);
    addDetailCommands(context);
  });

  afterEach(() => model.dispose());

  it('are all there, named and described', async () => {
    for (const id of Object.values(CommandIDs)) {
      expect(commands.hasCommand(id)).toBe(true);
      expect(id).toMatch(/^jupyter-elastic:[a-z]+(-[a-z]+)*$/);
      expect(commands.label(id)).not.toBe('');
      expect(commands.caption(id)).not.toBe('');
      expect((await commands.describedBy(id)).args).toBeTruthy();
    }
  });

  it('always ask when they scale', async () => {
    await commands.execute(CommandIDs.scale, { cluster: ID, size: 4 });
    expect(actions.scale).toHaveBeenLastCalledWith(ID, 4, { ask: true });
    await commands.execute(CommandIDs.scaleUp);
    expect(actions.scale).toHaveBeenLastCalledWith(ID, 3, { ask: true });
    await commands.execute(CommandIDs.scaleDown, { cluster: ID });
    expect(actions.scale).toHaveBeenLastCalledWith(ID, 1, { ask: true });
    await commands.execute(CommandIDs.undoScale, {});
    expect(actions.undo).toHaveBeenLastCalledWith(ID, { ask: true });
    await commands.execute(CommandIDs.releaseAll);
    expect(actions.releaseAll).toHaveBeenLastCalledWith({ ask: true });
  });

  it('do nothing with wrong arguments, and say so', async () => {
    await commands.execute(CommandIDs.scale, { cluster: ID, size: '4; rm' });
    await commands.execute(CommandIDs.scale, { cluster: 'gone', size: 4 });
    await commands.execute(CommandIDs.stopRun, { cluster: ID });
    expect(actions.scale).not.toHaveBeenCalled();
    expect(actions.stopRun).not.toHaveBeenCalled();
    expect(actions.report).toHaveBeenCalledTimes(3);
  });

  it('pass on what failed', async () => {
    const refusal = new Error('No.');
    actions.release.mockRejectedValue(refusal);
    await commands.execute(CommandIDs.releaseCluster, { cluster: ID });
    expect(actions.report).toHaveBeenCalledWith(refusal);
  });

  it('reach every action', async () => {
    const args = { cluster: ID, run: 'r1', container: 'tthvd-1' };
    const pairs: [string, unknown, unknown[]][] = [
      [CommandIDs.openLaunchTerminal, actions.openLaunchTerminal, [ID]],
      [CommandIDs.copyLaunchCommand, actions.copyLaunchCommand, [ID]],
      [CommandIDs.copyCode, actions.copyCode, [ID]],
      [CommandIDs.preflight, actions.preflight, [ID]],
      [CommandIDs.showHistory, actions.showHistory, [ID]],
      [CommandIDs.openRunTerminal, actions.openRunTerminal, [ID, 'r1']],
      [CommandIDs.showRunLog, actions.showRunLog, [ID, 'r1']],
      [CommandIDs.stopRun, actions.stopRun, [ID, 'r1']],
      [CommandIDs.showContainerLog, actions.showContainerLog, [ID, 'tthvd-1']],
      [
        CommandIDs.replaceContainer,
        actions.removeContainer,
        [ID, 'tthvd-1', true]
      ],
      [
        CommandIDs.removeContainer,
        actions.removeContainer,
        [ID, 'tthvd-1', false]
      ]
    ];
    for (const [command, action, expected] of pairs) {
      await commands.execute(command, args);
      expect(action).toHaveBeenLastCalledWith(...expected);
    }
  });

  it('open the panel and the form', async () => {
    await commands.execute(CommandIDs.openPanel);
    await commands.execute(CommandIDs.createCluster);
    expect(activated).toEqual([PANEL_ID, PANEL_ID]);
    expect(model.creating).toBe(true);
  });

  it('fill in the example without making anything', async () => {
    await commands.execute(CommandIDs.tryExample);
    expect(model.createDraft?.script).toBe('/root/tensorflow2_mnist.py');
    expect(server.count('POST clusters')).toBe(0);
  });

  it('take the selected script, only when there is one', async () => {
    expect(commands.isEnabled(CommandIDs.useSelectedScript)).toBe(false);
    scripts = ['lab/train.py'];
    server.answer(`PATCH clusters/${ID}`, makeCluster());
    expect(commands.isEnabled(CommandIDs.useSelectedScript)).toBe(true);
    await commands.execute(CommandIDs.useSelectedScript);
    expect(server.body(`PATCH clusters/${ID}`)).toEqual({
      script: 'lab/train.py'
    });
  });

  it('read again, whatever the engines say', async () => {
    server.state = makeState(2, []);
    await commands.execute(CommandIDs.refresh);
    expect(server.count('POST refresh')).toBe(1);
    await waitFor(() => expect(model.clusters).toHaveLength(0));
    expect(commands.isEnabled(CommandIDs.releaseAll)).toBe(false);
    expect(commands.isEnabled(CommandIDs.scale)).toBe(false);
    expect(commands.isEnabled(CommandIDs.scaleUp)).toBe(false);
  });
});
