import { UseSignal } from '@jupyterlab/ui-components';
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen,
  waitFor
} from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import * as React from 'react';
import { exampleDraft } from '../createdraft';
import { CreateForm } from '../components/CreateForm';
import type { ElasticModel } from '../model';
import type { FakeServer } from './fixtures';
import { makeCluster, makePlan, makeState, trans } from './fixtures';
import { makeActions, makeModel } from './stand';

describe('CreateForm', () => {
  let model: ElasticModel;
  let server: FakeServer;

  beforeEach(async () => {
    ({ model, server } = await makeModel([]));
    model.setCreating(true);
    server.answer('POST clusters', makePlan({ text: 'All can start now.' }));
    const actions = makeActions();
    render(
      <UseSignal signal={model.changed}>
        {() =>
          model.creating && (
            <CreateForm
              model={model}
              actions={actions}
              scripts={() => ['train.py']}
              trans={trans}
            />
          )
        }
      </UseSignal>
    );
  });

  afterEach(() => {
    cleanup();
    model.dispose();
  });

  const name = (): HTMLInputElement =>
    screen.getByRole('textbox', { name: 'Name' });
  const size = (): HTMLInputElement =>
    screen.getByRole('spinbutton', { name: 'Containers' });
  const creations = (): unknown[] =>
    server.seen
      .filter(({ method, path }) => method === 'POST' && path === 'clusters')
      .map(({ body }) => body)
      .filter(body => !(body as { dry_run?: boolean }).dry_run);

  it('begins at the name', () => {
    expect(document.activeElement).toBe(name());
    expect(size().value).toBe('2');
  });

  it('says what would happen, without doing it', async () => {
    await screen.findByText('All can start now.');
    expect(creations()).toEqual([]);
  });

  it('creates with Enter, closes and shows the new cluster', async () => {
    server.answer('POST clusters', makeCluster(), 201);
    server.state = makeState(2);
    await userEvent.clear(name());
    await userEvent.type(name(), 'tthvd{Enter}');
    await waitFor(() => expect(model.creating).toBe(false));
    expect(creations()).toEqual([
      {
        name: 'tthvd',
        framework: 'horovod',
        size: 2,
        engine: 'local',
        gpus_per_container: 0
      }
    ]);
    await waitFor(() => expect(model.selected?.name).toBe('tthvd'));
    expect(model.createDraft).toBeNull();
  });

  it('keeps what was typed when Escape closes it', async () => {
    await userEvent.clear(name());
    await userEvent.type(name(), 'half{Escape}');
    expect(model.creating).toBe(false);
    expect(screen.queryByRole('textbox')).toBeNull();
    React.act(() => model.setCreating(true));
    expect(name().value).toBe('half');
  });

  it.each(['1', '0', '2.5', '99', ''])(
    'names what is wrong with %j containers',
    async text => {
      await userEvent.clear(size());
      if (text !== '') {
        await userEvent.type(size(), text);
      }
      await userEvent.click(screen.getByRole('button', { name: 'Create' }));
      expect(await screen.findByRole('alert')).toBeTruthy();
      expect(size().getAttribute('aria-invalid')).toBe('true');
      expect(creations()).toEqual([]);
    }
  );

  it.each(['1', '2.5', '99'])(
    'shows the limit while %j is typed',
    async text => {
      await userEvent.clear(size());
      expect(screen.queryByRole('alert')).toBeNull();
      await userEvent.type(size(), text);
      expect(screen.queryByText(/1 launcher/)).toBeNull();
      expect(screen.getByRole('alert').textContent).toMatch(
        text === '99' ? 'At most 8: This machine has 8 places.' : 'from 2 on'
      );
    }
  );

  it('shows the example below the folder of the file browser', async () => {
    const { options } = model;
    if (options === null) {
      throw new Error('no options');
    }
    React.act(() => model.setCreateDraft(exampleDraft(options, [])));
    const script = screen.getByRole<HTMLInputElement>('combobox', {
      name: 'Script'
    });
    expect(script.value).toBe('tensorflow2_mnist.py');
  });

  it("shows the server's refusal at its field", async () => {
    server.answer(
      'POST clusters',
      {
        code: 'bad_input',
        message: 'There is a cluster of this name.',
        hint: 'Choose another one.',
        detail: { field: 'name' }
      },
      400
    );
    await userEvent.click(screen.getByRole('button', { name: 'Create' }));
    await waitFor(() =>
      expect(name().getAttribute('aria-invalid')).toBe('true')
    );
    expect(model.creating).toBe(true);
    const note = document.getElementById(
      name().getAttribute('aria-describedby') ?? ''
    );
    expect(note?.textContent).toBe(
      'There is a cluster of this name. Choose another one.'
    );
  });

  it('shows only what the engine has', () => {
    expect(screen.queryByText('Image')).toBeNull();
    expect(screen.queryByText('Kind')).toBeNull();
    expect(screen.queryByText('More')).toBeNull();
  });

  it('lets the server choose the launcher, and says what speaks against one', async () => {
    const { engines, ...options } = model.options!;
    const [engine] = engines;
    const note = 'Jupyter runs in another namespace.';
    server.answer('GET options', {
      ...options,
      engines: [
        { ...engine, launcher_modes: ['pod', 'here'], launcher_note: note }
      ]
    });
    await act(() => model.refreshOptions());
    screen.getByText(note);
    const launcher: HTMLSelectElement = screen.getByLabelText('Launcher');
    expect(launcher.value).toBe('');
    fireEvent.change(launcher, { target: { value: 'here' } });
    server.answer('POST clusters', makeCluster(), 201);
    await userEvent.type(name(), '{Enter}');
    await waitFor(() => expect(model.creating).toBe(false));
    expect(creations()).toMatchObject([{ launcher_mode: 'here' }]);
  });
});
