/** The part of a create form that only containers of a cluster have, and its request. Pure. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ICreateRequest, IMount, IToleration } from './wire';
import type { ICreateDraft, IPodDraft } from './tokens';

const GIB = 2 ** 30;

type PodRequest = Pick<
  ICreateRequest,
  | 'cpu'
  | 'memory'
  | 'env'
  | 'secret_env'
  | 'node_selector'
  | 'tolerations'
  | 'storage'
>;

type PodProblems = Partial<Record<keyof IPodDraft, string>>;

/** Nothing chosen. */
export const EMPTY_PODS: IPodDraft = {
  cpu: '',
  memory: '',
  env: [],
  secretEnv: [],
  nodeSelector: [],
  tolerations: [],
  storagePaths: {},
  readOnly: []
};

/** The request of the fields, and what is wrong with them. */
export function podRequest(
  draft: ICreateDraft,
  trans: TranslationBundle
): { request: PodRequest; problems: PodProblems } {
  const problems: PodProblems = {};
  const [cpu, memory] = [draft.cpu, draft.memory].map(positive);
  if (cpu === null) {
    problems.cpu = trans.__('A number of cores above 0, or nothing.');
  }
  if (memory === null) {
    problems.memory = trans.__('A number of GiB, or nothing.');
  } else if (memory !== undefined && Number(draft.sharedMemory) >= memory) {
    problems.memory = trans.__(
      'The shared memory, %1 GiB, is a part of it: ask for more.',
      draft.sharedMemory.trim()
    );
  }
  const env = filled(draft.env);
  const secrets = filled(draft.secretEnv);
  const labels = filled(draft.nodeSelector);
  const lacking = trans.__('Each row needs a name.');
  if (env.some(([name]) => name === '')) {
    problems.env = lacking;
  } else if (twice([...env, ...secrets])) {
    problems.env = trans.__('A name is given twice.');
  }
  if (secrets.some(row => row.includes(''))) {
    problems.secretEnv = trans.__('Each row needs a name, a Secret and a key.');
  }
  if (labels.some(([label]) => label === '')) {
    problems.nodeSelector = trans.__('Each row needs a label.');
  } else if (twice(labels)) {
    problems.nodeSelector = trans.__('A label is given twice.');
  }
  const request = {
    cpu: cpu ?? undefined,
    memory: memory ? Math.round(memory * GIB) : undefined,
    env: some(Object.fromEntries(env) as Record<string, string>),
    secret_env: some(
      secrets.map(([name, secret, key]) => ({ name, secret, key }))
    ),
    node_selector: some(Object.fromEntries(labels) as Record<string, string>),
    tolerations: some(filled(draft.tolerations).map(toleration)),
    storage: draft.storage.map(claim => mount(draft, claim))
  };
  return { request, problems };
}

function toleration([key, value, effect]: string[]): IToleration {
  const how =
    value === ''
      ? ({ operator: 'Exists' } as const)
      : ({ operator: 'Equal', value } as const);
  return { key, ...how, effect };
}

/** A claim by its name alone where nothing more was said. */
function mount(draft: ICreateDraft, claim: string): string | IMount {
  const path = (draft.storagePaths[claim] ?? '').trim();
  const readOnly = draft.readOnly.includes(claim);
  return path === '' && !readOnly
    ? claim
    : { claim, path: path || `/mnt/${claim}`, read_only: readOnly };
}

/** The number of a text; `undefined` for none, `null` for what is no number above 0. */
function positive(text: string): number | null | undefined {
  if (text.trim() === '') {
    return undefined;
  }
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : null;
}

/** Rows in which something was typed; values of variables keep their spaces. */
function filled(rows: readonly (readonly string[])[]): string[][] {
  return rows
    .map(([first, ...rest]) => [first.trim(), ...rest])
    .filter(row => row.some(cell => cell !== ''));
}

function twice(rows: readonly string[][]): boolean {
  return new Set(rows.map(([name]) => name)).size < rows.length;
}

function some<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}
