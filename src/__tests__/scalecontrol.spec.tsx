import { UseSignal } from '@jupyterlab/ui-components';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import * as React from 'react';
import type { ICluster } from '../api';
import { ScaleControl } from '../components/ScaleControl';
import type { ElasticModel } from '../model';
import { RequestError } from '../request';
import type { IElasticActions } from '../tokens';
import type { FakeServer } from './fixtures';
import { makeCluster, makePlan, makeRun, makeState, trans } from './fixtures';
import { makeActions, makeModel } from './stand';

const ID = 'tthvd-abc234';

describe('ScaleControl', () => {
  let model: ElasticModel;
  let server: FakeServer;
  let actions: jest.Mocked<IElasticActions>;

  const show = async (values: Partial<ICluster> = {}): Promise<void> => {
    ({ model, server } = await makeModel([makeCluster(values)]));
    server.answer(`POST clusters/${ID}/plan`, makePlan());
    actions = makeActions();
    render(
      <UseSignal signal={model.changed}>
        {() =>
          model.selected && (
            <ScaleControl
              model={model}
              actions={actions}
              cluster={model.selected}
              trans={trans}
            />
          )
        }
      </UseSignal>
    );
  };

  afterEach(() => {
    cleanup();
    model.dispose();
  });

  const slider = (): HTMLInputElement => screen.getByRole('slider');
  const field = (): HTMLInputElement => screen.getByRole('spinbutton');
  const apply = (): HTMLElement =>
    screen.getByRole('button', { name: 'Apply' });

  it('says the size in words', async () => {
    await show({ gpus_per_container: 2 });
    expect(slider().getAttribute('aria-valuetext')).toBe(
      '2 of 8 containers, 4 GPUs'
    );
    expect(screen.getByLabelText('Size of tthvd')).toBe(slider());
  });

  it('makes a draft and a plan when the thumb moves, and acts on Apply only', async () => {
    await show();
    fireEvent.change(slider(), { target: { value: '4' } });
    expect(model.draft(ID)).toBe(4);
    expect(field().value).toBe('4');
    await screen.findByText('+2 containers. 2 start now.');
    expect(server.body(`POST clusters/${ID}/plan`)).toEqual({ size: 4 });
    expect(actions.scale).not.toHaveBeenCalled();
    await userEvent.click(apply());
    expect(actions.scale).toHaveBeenCalledWith(ID, 4, { ask: false });
  });

  it('asks for one plan after a quick move', async () => {
    await show();
    for (const value of ['3', '4', '5', '4']) {
      fireEvent.change(slider(), { target: { value } });
    }
    await screen.findByText('+2 containers. 2 start now.');
    expect(server.count(`POST clusters/${ID}/plan`)).toBe(1);
  });

  it('acts on Enter in the field', async () => {
    await show();
    await userEvent.clear(field());
    await userEvent.type(field(), '4{Enter}');
    expect(actions.scale).toHaveBeenCalledTimes(1);
    expect(actions.scale).toHaveBeenCalledWith(ID, 4, { ask: false });
  });

  it.each(['0', '-1', '2.5', '1e9', '9'])('refuses %s', async text => {
    await show();
    fireEvent.change(field(), { target: { value: text } });
    expect(screen.getByRole('alert').textContent).toContain(
      'A whole number from 1 to 8.'
    );
    expect(apply().getAttribute('aria-disabled')).toBe('true');
    await userEvent.type(field(), '{Enter}');
    expect(actions.scale).not.toHaveBeenCalled();
    expect(model.draft(ID)).toBeNull();
  });

  it('takes the draft back with Escape', async () => {
    await show();
    fireEvent.change(slider(), { target: { value: '5' } });
    fireEvent.keyDown(slider(), { key: 'Escape' });
    expect(model.draft(ID)).toBeNull();
    expect(slider().value).toBe('2');
  });

  it('keeps the thumb where the hand is while the state is read', async () => {
    await show();
    fireEvent.change(slider(), { target: { value: '5' } });
    server.state = makeState(2, [makeCluster({ target: 3, ready: 3 })]);
    await React.act(() => model.refresh());
    expect(slider().value).toBe('5');
    expect(screen.getByText('target 3')).toBeTruthy();
    expect(screen.getByText('ready 3')).toBeTruthy();
  });

  it('shows the range of a live elastic run in containers', async () => {
    const run = makeRun({ elastic: true, min_np: 2, max_np: 12 });
    await show({ slots: 2, runs: [run] });
    expect(screen.getByText('run 1–6').title).toBe(
      'The live run takes 1 to 6 containers.'
    );
  });

  it('draws no two signs in one place', async () => {
    const run = makeRun({ elastic: true, min_np: 1, max_np: 8 });
    await show({ target: 8, ready: 8, runs: [run] });
    const signs = (): (string | null)[] =>
      [...document.querySelectorAll('.jp-ElasticMarks-mark')].map(
        mark => mark.textContent
      );
    expect(signs()).toEqual(['◉']);
    server.state = makeState(2, [makeCluster({ target: 9, ready: 7 })]);
    await React.act(() => model.refresh());
    expect(signs()).toEqual(['●', '○', '│']);
  });

  it('says in short what the limit is, and more on hovering', async () => {
    const limit = { size: 2, text: 'Two places.', detail: 'Ask ops.' };
    await show({ limit });
    const note = screen.getByText('Two places.');
    expect(note.title).toBe('Ask ops.');
    fireEvent.change(field(), { target: { value: '3' } });
    expect(screen.getByRole('alert').textContent).toBe(
      'A whole number from 1 to 2. Two places.'
    );
  });

  it('offers only sizes that the framework can train with', async () => {
    await show({ valid_sizes: [1, 2, 4, 8] });
    fireEvent.change(slider(), { target: { value: '3' } });
    expect(model.draft(ID)).toBe(4);
    fireEvent.change(slider(), { target: { value: '3' } });
    expect(model.draft(ID)).toBeNull();
    fireEvent.change(field(), { target: { value: '3' } });
    expect(screen.getByRole('alert').textContent).toContain('1, 2, 4, 8');
  });

  it('shows why there is no plan', async () => {
    await show();
    server.answer(
      `POST clusters/${ID}/plan`,
      { code: 'limit', message: 'At most 6.', hint: 'Ask ops.' },
      422
    );
    fireEvent.change(slider(), { target: { value: '7' } });
    expect((await screen.findByRole('alert')).textContent).toContain(
      'At most 6. Ask ops.'
    );
  });

  it('reports a refusal', async () => {
    await show();
    const refusal = new RequestError({ kind: 'limit', message: 'No.' });
    actions.scale.mockRejectedValue(refusal);
    fireEvent.change(slider(), { target: { value: '4' } });
    await userEvent.click(apply());
    expect(actions.report).toHaveBeenCalledWith(refusal);
    expect(model.draft(ID)).toBe(4);
  });

  it('offers to undo the last change', async () => {
    const last = { previous: 4, target: 2, at: 1, by: 'me', undo: true };
    await show({ last_change: last });
    const undo = screen.getByRole('button', { name: 'Undo' });
    expect(undo.title).toBe('Back to 4');
    await userEvent.click(undo);
    expect(actions.undo).toHaveBeenCalledWith(ID, { ask: false });
  });

  it('cannot be used while the cluster goes away', async () => {
    await show({ state: 'releasing' });
    expect(slider().disabled).toBe(true);
    expect(apply().title).toBe('The cluster is going away.');
  });
});
