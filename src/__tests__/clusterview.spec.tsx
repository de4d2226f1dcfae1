/* eslint-disable jupyter/no-untranslated-string -- what a server says is not translated here */
import { UseSignal } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import {
  cleanup,
  fireEvent,
  render,
  screen,
  waitFor
} from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import * as React from 'react';
import type { ICluster } from '../api';
import { ElasticView } from '../components/ElasticView';
import { ErrorBoundary } from '../components/ErrorBoundary';
import type { ElasticModel } from '../model';
import type { IElasticActions } from '../tokens';
import { CommandIDs } from '../tokens';
import type { FakeServer } from './fixtures';
import {
  makeCluster,
  makeLaunch,
  makeOptions,
  makeRun,
  makeState,
  trans
} from './fixtures';
import { makeActions, makeModel } from './stand';

const ID = 'tthvd-abc234';

describe('ElasticView', () => {
  let model: ElasticModel;
  let server: FakeServer;
  let actions: jest.Mocked<IElasticActions>;
  let executed: string[];

  const show = async (
    clusters: ICluster[],
    options = makeOptions()
  ): Promise<void> => {
    ({ model, server } = await makeModel(clusters));
    server.options = options;
    await model.refreshOptions();
    server.answer(`GET clusters/${ID}/launch`, makeLaunch());
    server.answer(`PATCH clusters/${ID}`, makeCluster());
    actions = makeActions();
    executed = [];
    const commands = new CommandRegistry();
    for (const id of Object.values(CommandIDs)) {
      commands.addCommand(id, {
        execute: () => {
          executed.push(id);
        }
      });
    }
    render(
      <UseSignal signal={model.changed}>
        {() => (
          <ElasticView
            model={model}
            actions={actions}
            commands={commands}
            scripts={() => ['lab/other.py']}
            trans={trans}
          />
        )}
      </UseSignal>
    );
    React.act(() => model.setPanelVisible(true));
  };

  afterEach(() => {
    cleanup();
    model.dispose();
  });

  const launchButton = (): Promise<HTMLElement> =>
    screen.findByRole('button', { name: 'launch horovodrun' });

  it('says what to do when there is nothing yet', async () => {
    await show([]);
    expect(screen.getByText('No training cluster yet.')).toBeTruthy();
    expect(
      screen.getByText('Here: this machine, 8 CPU cores, no GPU.')
    ).toBeTruthy();
    await userEvent.click(
      screen.getByRole('button', { name: 'Create a cluster' })
    );
    await userEvent.click(
      screen.getByRole('button', { name: 'Try the example' })
    );
    expect(executed).toEqual([CommandIDs.createCluster, CommandIDs.tryExample]);
  });

  it('offers no example where there is none', async () => {
    await show([], makeOptions({ example: null }));
    expect(
      screen.queryByRole('button', { name: 'Try the example' })
    ).toBeNull();
  });

  it('shows the real cause in a banner and keeps the last state', async () => {
    await show([makeCluster()]);
    server.answer('GET clusters', '<html>', 404);
    await React.act(() => model.refresh());
    expect(screen.getByRole('alert').textContent).toContain(
      'The server half of jupyter_elastic is not installed or not enabled.'
    );
    expect(screen.getByRole('table')).toBeTruthy();
    server.answers.delete('GET clusters');
    await userEvent.click(screen.getByRole('button', { name: 'Try now' }));
    await waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
  });

  it('launches by the name of the program', async () => {
    await show([makeCluster()]);
    const button = await launchButton();
    await waitFor(() =>
      expect(button.getAttribute('aria-disabled')).toBe('false')
    );
    expect(screen.getByLabelText('Command').textContent).toBe(
      'horovodrun -np 2 --hostfile /etc/mpi/hostfile python train.py'
    );
    await userEvent.click(button);
    expect(actions.openLaunchTerminal).toHaveBeenCalledWith(ID);
    await userEvent.click(
      screen.getByRole('button', { name: 'Copy the command' })
    );
    expect(actions.copyLaunchCommand).toHaveBeenCalledWith(ID);
  });

  it('says why it cannot launch', async () => {
    await show([makeCluster()]);
    const reason = { code: 'no_script', text: 'Choose a script.', detail: '' };
    server.answer(
      `GET clusters/${ID}/launch`,
      makeLaunch({ ready: false, reason })
    );
    server.state = makeState(2, [makeCluster({ np: 3 })]);
    await React.act(() => model.refresh());
    const why = await screen.findByText('Choose a script.');
    const button = await launchButton();
    expect(button.getAttribute('aria-disabled')).toBe('true');
    expect(button.getAttribute('aria-describedby')).toBe(why.id);
  });

  it('takes the script that is at hand', async () => {
    await show([makeCluster()]);
    await userEvent.click(screen.getByRole('button', { name: 'Use other.py' }));
    await waitFor(() =>
      expect(server.body(`PATCH clusters/${ID}`)).toEqual({
        script: 'lab/other.py'
      })
    );
  });

  it('sends arguments as words, and refuses an open quote', async () => {
    await show([makeCluster()]);
    const field = screen.getByRole('textbox', { name: 'Arguments' });
    await userEvent.type(field, '--name "a b"{Enter}');
    await waitFor(() =>
      expect(server.body(`PATCH clusters/${ID}`)).toEqual({
        arguments: ['--name', 'a b']
      })
    );
    await userEvent.clear(field);
    await userEvent.type(field, '"open{Enter}');
    expect(await screen.findByText('A quote is not closed.')).toBeTruthy();
    expect(server.count(`PATCH clusters/${ID}`)).toBe(1);
  });

  it('shows the script below the folder of the file browser', async () => {
    const cluster = makeCluster();
    cluster.settings.script = '/root/deep/train.py';
    await show([cluster]);
    const field = screen.getByRole<HTMLInputElement>('combobox', {
      name: 'Script'
    });
    expect(field.value).toBe('deep/train.py');
    expect(field.title).toBe('/root/deep/train.py');
  });

  it('keeps a script that is refused, with the reason', async () => {
    await show([makeCluster()]);
    server.answer(
      `PATCH clusters/${ID}`,
      { code: 'bad_input', message: 'No such file.', hint: '' },
      400
    );
    const field = screen.getByRole<HTMLInputElement>('combobox', {
      name: 'Script'
    });
    await userEvent.clear(field);
    await userEvent.type(field, 'nothing.py{Enter}');
    expect(await screen.findByText('No such file.')).toBeTruthy();
    expect(field.value).toBe('nothing.py');
    expect(actions.report).not.toHaveBeenCalled();
  });

  it('switches to the elastic way', async () => {
    await show([makeCluster()]);
    await userEvent.click(
      screen.getByRole('checkbox', { name: 'Grows and shrinks while it runs' })
    );
    await waitFor(() =>
      expect(server.body(`PATCH clusters/${ID}`)).toEqual({
        framework: 'horovod-elastic'
      })
    );
  });

  it('passes variables by name', async () => {
    await show([makeCluster()]);
    fireEvent.change(
      screen.getByRole('combobox', {
        name: 'Pass another variable',
        hidden: true
      }),
      { target: { value: 'HF_TOKEN' } }
    );
    await waitFor(() =>
      expect(server.body(`PATCH clusters/${ID}`)).toEqual({
        pass_env: ['HF_TOKEN']
      })
    );
  });

  it('answers an offer', async () => {
    const offer = {
      kind: 'release' as const,
      text: 'train.py ended.',
      choices: ['keep', 'release'],
      due: Date.now() / 1000 + 48,
      container: null,
      run: 'run1'
    };
    await show([makeCluster({ offers: [offer] })]);
    expect(screen.getByRole('timer').textContent).toMatch(/^0:4\d$/);
    await userEvent.click(screen.getByRole('button', { name: 'Release now' }));
    expect(actions.release).toHaveBeenCalledWith(ID);
    expect(server.count(`POST clusters/${ID}/offers`)).toBe(0);
    server.answer(`POST clusters/${ID}/offers`, makeCluster());
    await userEvent.click(screen.getByRole('button', { name: 'Keep' }));
    await waitFor(() =>
      expect(server.body(`POST clusters/${ID}/offers`)).toEqual({
        kind: 'release',
        choice: 'keep',
        run: 'run1'
      })
    );
  });

  it('shows runs with what can be done about them', async () => {
    const reason = { code: 'oom', text: 'Out of memory.', detail: '' };
    const failed = makeRun({
      id: 'run0',
      state: 'failed',
      ended: 1250,
      exit: 137,
      reason
    });
    await show([makeCluster({ runs: [makeRun(), failed] })]);
    expect(screen.getByText('Out of memory.')).toBeTruthy();
    expect(screen.getByText('exit 137')).toBeTruthy();
    expect(screen.getByText('4 min 10 s')).toBeTruthy();
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }));
    expect(actions.stopRun).toHaveBeenCalledWith(ID, 'run1');
    await userEvent.click(screen.getByRole('button', { name: 'Terminal' }));
    expect(actions.openRunTerminal).toHaveBeenCalledWith(ID, 'run1');
  });

  it('shows the last run that ended and folds the others', async () => {
    const ended = [1, 2, 3].map(n =>
      makeRun({
        id: `run${n}`,
        state: 'ended',
        started: 1000 * n,
        ended: 1000 * n + n,
        exit: 0,
        argv: ['horovodrun', 'python', `/w/train${n}.py`]
      })
    );
    await show([makeCluster({ runs: [makeRun(), ...ended] })]);
    const fold = screen.getByText('Past runs (2)').closest('details');
    expect(fold?.open).toBe(false);
    const shown = [...document.querySelectorAll('.jp-ElasticRun')]
      .filter(row => row.closest('details') === null)
      .map(row => row.querySelector('b')?.textContent);
    expect(shown).toEqual(['train.py', 'train3.py']);
    expect(fold?.querySelectorAll('li')).toHaveLength(2);
    expect(screen.queryByText('exit 0')).toBeNull();
    const logs = screen.getAllByRole('button', { name: 'Log' });
    await userEvent.click(logs[1]);
    expect(actions.showRunLog).toHaveBeenCalledWith(ID, 'run3');
  });

  it('says why the host file is not in the usual folder', async () => {
    const own = '/tmp/je/other-xyz';
    const { hostfile } = makeCluster();
    const other = makeCluster({
      id: 'other-xyz',
      name: 'other',
      hostfile: { ...hostfile, folder: own, hostfile: `${own}/hostfile` }
    });
    await show([makeCluster(), other]);
    expect(screen.queryByText(/etc.mpi (belongs|could)/)).toBeNull();
    React.act(() => model.select('other-xyz'));
    expect(screen.getByText('/etc/mpi belongs to tthvd.')).toBeTruthy();
    server.state = makeState(2, [other]);
    await React.act(() => model.refresh());
    const why = screen.getByText('/etc/mpi could not be used here.');
    expect(why.title).toContain('jupyter elastic doctor');
    const reason = { code: 'x', text: 'It is held by old.', detail: '' };
    other.hostfile.reason = reason;
    server.state = makeState(3, [other]);
    await React.act(() => model.refresh());
    expect(screen.getByText('It is held by old.')).toBeTruthy();
  });

  it('keeps the words of the command in one piece', async () => {
    await show([makeCluster()]);
    const command = await screen.findByLabelText('Command');
    expect(command.textContent).toBe(makeLaunch().text);
    expect([...command.children].map(word => word.textContent)).toContain(
      '--hostfile'
    );
  });

  it('lets the person choose among clusters', async () => {
    const other = makeCluster({ id: 'other-xyz', name: 'other' });
    await show([makeCluster(), other]);
    fireEvent.change(screen.getByRole('combobox', { name: 'Cluster' }), {
      target: { value: 'other-xyz' }
    });
    expect(model.selected?.id).toBe('other-xyz');
  });

  it('announces a settled change politely', async () => {
    await show([makeCluster({ state: 'scaling', ready: 1 })]);
    expect(screen.getByRole('status').textContent).toBe('');
    server.state = makeState(2);
    await React.act(() => model.refresh());
    await waitFor(() =>
      expect(screen.getByRole('status').textContent).toBe(
        'tthvd: Ready, 2 of 2 containers ready'
      )
    );
  });

  it('shows a frozen host file', async () => {
    const { hostfile } = makeCluster();
    const reason = { code: 'x', text: 'The disk is full.', detail: '' };
    await show([
      makeCluster({ hostfile: { ...hostfile, frozen_since: 1000, reason } })
    ]);
    expect(screen.getByRole('alert').textContent).toContain('is frozen since');
    expect(screen.getByText('The disk is full.')).toBeTruthy();
  });
});

describe('ErrorBoundary', () => {
  it('keeps a fault in its place', () => {
    const quiet = jest.spyOn(console, 'error').mockImplementation(() => null);
    const Broken = (): React.JSX.Element => {
      throw new Error('broken');
    };
    render(
      <>
        <ErrorBoundary details="v" trans={trans}>
          <Broken />
        </ErrorBoundary>
        <p>fine</p>
      </>
    );
    expect(screen.getByRole('alert').textContent).toContain('cannot be shown');
    expect(screen.getByText('fine')).toBeTruthy();
    quiet.mockRestore();
    cleanup();
  });
});
