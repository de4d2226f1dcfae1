import { CommandRegistry } from '@lumino/commands';
import { cleanup, render, screen, within } from '@testing-library/react';
import * as React from 'react';
import type { ICluster, ISample } from '../api';
import { ContainersTable } from '../components/ContainersTable';
import { makeCluster, makeContainer, trans } from './fixtures';

describe('ContainersTable', () => {
  afterEach(cleanup);

  const gpu = { index: 0, name: 'NVIDIA P4', memory_bytes: 16 * 2 ** 30 };
  const waiting = makeContainer({
    uid: 'u2',
    name: 'tthvd-q9m4d',
    role: 'worker',
    state: 'pending',
    host: null,
    reason: { code: 'no_node', text: 'No node has 1 free P4.', detail: '' }
  });

  const show = (
    cluster: ICluster,
    showGpus = true,
    use: Partial<ISample> = {}
  ): void => {
    const sample = {
      container: 'tthvd-0',
      cpu_percent: 80,
      memory_bytes: 2 ** 30,
      gpu_percent: [92],
      gpu_memory_bytes: [14 * 2 ** 30],
      ...use
    };
    render(
      <ContainersTable
        cluster={cluster}
        samples={[sample]}
        showGpus={showGpus}
        commands={new CommandRegistry()}
        trans={trans}
      />
    );
  };

  it('is a table with a caption and headings', () => {
    show(makeCluster());
    const table = screen.getByRole('table', { name: 'Containers of tthvd' });
    const columns = within(table)
      .getAllByRole('columnheader')
      .map(cell => cell.textContent);
    expect(columns).toEqual(['Container', 'State', 'Actions']);
    expect(within(table).getAllByRole('rowheader')).toHaveLength(2);
  });

  it('shows where each container is, and a long name at both ends', () => {
    const name = 'a-team-with-a-long-name-q9m4d';
    show(makeCluster({ containers: [makeContainer({ name })] }));
    const header = screen.getByRole('rowheader', { name: new RegExp(name) });
    expect(header.textContent).toContain('launcher · 127.0.0.1');
    const cut = within(header).getByTitle(name);
    const [, start, end] = [...cut.children].map(part => part.textContent);
    expect(`${start}${end}`).toBe(name);
    expect(end).toBe('me-q9m4d');
  });

  it('says why a container is not ready, in words', () => {
    show(makeCluster({ containers: [makeContainer(), waiting] }));
    expect(screen.getByText('No node has 1 free P4.')).toBeTruthy();
    expect(screen.getByText(/Pending/)).toBeTruthy();
  });

  it('shows GPUs and their use', () => {
    show(makeCluster({ containers: [makeContainer({ gpus: [gpu] })] }));
    expect(screen.getByRole('columnheader', { name: 'GPU' })).toBeTruthy();
    expect(screen.getByText('P4')).toBeTruthy();
    expect(screen.getByText('GPU 0: 92 % · 14.0 GiB of 16.0 GiB')).toBeTruthy();
  });

  it('shows the processor where there is no GPU', () => {
    show(makeCluster());
    expect(screen.getByText('CPU 80 % · 1.0 GiB')).toBeTruthy();
  });

  it('calls a container idle where nothing runs', () => {
    show(makeCluster(), true, { cpu_percent: 0.2, memory_bytes: 0 });
    expect(screen.getByText('idle')).toBeTruthy();
    expect(screen.queryByText(/0 B/)).toBeNull();
  });

  it('leaves GPUs out when the settings say so', () => {
    show(makeCluster({ containers: [makeContainer({ gpus: [gpu] })] }), false);
    expect(screen.queryByRole('columnheader', { name: 'GPU' })).toBeNull();
  });

  it('names the menu of each container', () => {
    show(makeCluster());
    expect(
      screen.getByRole('button', { name: 'Actions of tthvd-x7k2p' })
    ).toBeTruthy();
  });
});
