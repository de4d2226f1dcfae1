import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import * as React from 'react';
import { CreateMore } from '../components/CreateMore';
import { firstDraft, toRequest } from '../createdraft';
import type { ICreateDraft } from '../tokens';
import { makeOptions, trans } from './fixtures';

describe('what only pods have', () => {
  const plain = makeOptions();
  const options = {
    ...plain,
    engines: [
      {
        ...plain.engines[0],
        storage: ['data', 'work'],
        shared_memory: true,
        pod_fields: true
      }
    ]
  };
  const draft = firstDraft(options, []);
  const read = (fields: Partial<ICreateDraft>): ReturnType<typeof toRequest> =>
    toRequest(options, { ...draft, ...fields }, trans);

  it('leaves out what was not chosen', () => {
    const { request, problems } = read({
      env: [['', '']],
      tolerations: [['', '', '']]
    });
    expect(problems).toEqual({});
    expect(JSON.parse(JSON.stringify(request))).toEqual({
      name: 'training',
      framework: 'horovod',
      size: 2,
      engine: 'local',
      gpus_per_container: 0,
      storage: []
    });
  });

  it('sends what was chosen', () => {
    const { request, problems } = read({
      cpu: '0.5',
      memory: '16',
      sharedMemory: '8',
      env: [[' LEVEL ', ' info ']],
      secretEnv: [['TOKEN', 'hub', 'token']],
      nodeSelector: [['disk', 'fast']],
      tolerations: [
        ['gpu', '', 'NoSchedule'],
        ['team', 'a', '']
      ],
      storage: ['data', 'work'],
      storagePaths: { data: '/data' },
      readOnly: ['data']
    });
    expect(problems).toEqual({});
    expect(request).toMatchObject({
      cpu: 0.5,
      memory: 16 * 2 ** 30,
      env: { LEVEL: ' info ' },
      secret_env: [{ name: 'TOKEN', secret: 'hub', key: 'token' }],
      node_selector: { disk: 'fast' },
      tolerations: [
        { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'team', operator: 'Equal', value: 'a', effect: '' }
      ],
      storage: [{ claim: 'data', path: '/data', read_only: true }, 'work']
    });
  });

  it.each<[keyof ICreateDraft, Partial<ICreateDraft>]>([
    ['cpu', { cpu: '0' }],
    ['cpu', { cpu: 'four' }],
    ['memory', { memory: '-1' }],
    ['memory', { memory: '8', sharedMemory: '8' }],
    ['env', { env: [['', 'value']] }],
    [
      'env',
      {
        env: [
          ['A', '1'],
          ['A', '2']
        ]
      }
    ],
    ['env', { env: [['A', '1']], secretEnv: [['A', 's', 'k']] }],
    ['secretEnv', { secretEnv: [['A', 's', '']] }],
    ['nodeSelector', { nodeSelector: [['', 'x']] }]
  ])('names what is wrong with %s: %j', (field, fields) => {
    const { request, problems } = read(fields);
    expect(request).toBeNull();
    expect(Object.keys(problems)).toEqual([field]);
  });

  describe('drawn', () => {
    let shown: ICreateDraft;

    function Form(): React.JSX.Element {
      const [value, setValue] = React.useState(draft);
      shown = value;
      return (
        <CreateMore
          options={options}
          engine={options.engines[0]}
          draft={value}
          problems={toRequest(options, value, trans).problems}
          onChange={setValue}
          trans={trans}
        />
      );
    }

    const type = (name: string, value: string): void => {
      act(() => {
        fireEvent.change(screen.getByLabelText(name), { target: { value } });
      });
    };

    beforeEach(() => render(<Form />));
    afterEach(cleanup);

    it('hides values of variables, and takes a row away again', () => {
      fireEvent.click(screen.getByLabelText('Add to Environment'));
      type('Environment 1: name', 'TOKEN');
      type('Environment 1: value', 'secret');
      const value: HTMLInputElement = screen.getByLabelText(
        'Environment 1: value'
      );
      expect(value.type).toBe('password');
      expect(shown.env).toEqual([['TOKEN', 'secret']]);
      fireEvent.click(screen.getByLabelText('Remove Environment 1'));
      expect(shown.env).toEqual([]);
      expect(document.activeElement).toBe(
        screen.getByLabelText('Add to Environment')
      );
    });

    it('asks for a path once a claim is chosen', () => {
      expect(screen.queryByLabelText('Mount path of data')).toBeNull();
      fireEvent.click(screen.getByLabelText('data'));
      type('Mount path of data', '/data');
      fireEvent.click(screen.getByLabelText('data read-only'));
      expect(toRequest(options, shown, trans).request?.storage).toEqual([
        { claim: 'data', path: '/data', read_only: true }
      ]);
    });

    it('shows what is wrong beside the field', () => {
      type('CPU cores per container', 'many');
      expect(screen.getByRole('alert').textContent).toContain('cores above 0');
    });
  });
});
