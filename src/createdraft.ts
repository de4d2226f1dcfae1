/** What was typed into the create form, and the request that follows from it. Pure. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type {
  ICreateRequest,
  IEngineOptions,
  IFrameworkOption,
  IOptions
} from './api';
import { parseWhole } from './format';
import { EMPTY_PODS, podRequest } from './poddraft';
import type { ICreateDraft } from './tokens';

const GIB = 2 ** 30;

/** Fields that cannot be sent, each with what is wrong. */
export type Problems = Partial<Record<keyof ICreateDraft, string>>;

/** The engine a draft chose, else the default one. */
export function chosenEngine(
  options: IOptions,
  draft: ICreateDraft
): IEngineOptions | null {
  return (
    options.engines.find(engine => engine.name === draft.engine) ??
    options.engines[0] ??
    null
  );
}

/** The framework a draft chose. */
export function chosenFramework(
  options: IOptions,
  draft: ICreateDraft
): IFrameworkOption | null {
  return options.frameworks.find(item => item.name === draft.framework) ?? null;
}

/** A form to begin with. */
export function firstDraft(
  options: IOptions,
  taken: readonly string[]
): ICreateDraft {
  const engine =
    options.engines.find(item => item.name === options.default_engine) ??
    options.engines[0];
  const framework =
    options.frameworks.find(item => item.available) ?? options.frameworks[0];
  const kinds = engine?.gpu_kinds ?? [];
  const kind = kinds.find(item => item.free !== 0) ?? kinds[0];
  return {
    name: freeName(taken),
    framework: framework?.name ?? '',
    size: String(options.min_size),
    engine: engine?.name ?? '',
    // With a choice the server takes what fits.
    launcherMode: '',
    useGpu: kind !== undefined && kind.free !== 0,
    gpuKind: kind?.name ?? '',
    gpus: '1',
    image: engine?.images?.[0] ?? '',
    sharedMemory: '',
    storage: [],
    ...EMPTY_PODS,
    script: ''
  };
}

/** The example: two containers that train on the tutorial's data. */
export function exampleDraft(
  options: IOptions,
  taken: readonly string[]
): ICreateDraft {
  return {
    ...firstDraft(options, taken),
    name: taken.includes('tthvd') ? freeName(taken) : 'tthvd',
    framework: 'horovod',
    size: '2',
    script: options.example ?? ''
  };
}

/** What follows when another engine is chosen: nothing of the old one stays. */
export function withEngine(
  options: IOptions,
  draft: ICreateDraft,
  name: string
): ICreateDraft {
  const first = firstDraft({ ...options, default_engine: name }, []);
  const { framework, size, script } = draft;
  return { ...first, name: draft.name, framework, size, script };
}

/** The request of a draft, or what has to be changed first. */
export function toRequest(
  options: IOptions,
  draft: ICreateDraft,
  trans: TranslationBundle
): { request: ICreateRequest | null; problems: Problems } {
  const engine = chosenEngine(options, draft);
  const problems: Problems = {};
  const size = parseWhole(draft.size);
  if (size === null || size < options.min_size) {
    problems.size = trans.__('A whole number from %1 on.', options.min_size);
  } else if (engine !== null && size > engine.max_size) {
    problems.size = trans.__(
      'At most %1: %2',
      engine.max_size,
      engine.capacity.text
    );
  }
  if (draft.name.trim() === '') {
    problems.name = trans.__('Give it a name.');
  }
  const wantsGpu = draft.useGpu && (engine?.gpu_kinds.length ?? 0) > 0;
  const gpus = wantsGpu ? parseWhole(draft.gpus) : 0;
  if (gpus === null || (wantsGpu && gpus < 1)) {
    problems.gpus = trans.__('A whole number from 1 on.');
  }
  const memory = draft.sharedMemory.trim();
  if (memory !== '' && !(Number(memory) > 0)) {
    problems.sharedMemory = trans.__('A number of GiB, or nothing.');
  }
  const pods = podRequest(draft, trans);
  if (engine?.pod_fields) {
    Object.assign(problems, pods.problems);
  }
  if (engine === null || size === null || gpus === null) {
    return { request: null, problems };
  }
  const request = {
    name: draft.name.trim(),
    framework: draft.framework,
    size,
    engine: engine.name,
    launcher_mode: engine.launcher_modes.find(m => m === draft.launcherMode),
    gpus_per_container: gpus,
    gpu_kind: wantsGpu ? draft.gpuKind : undefined,
    image: engine.images === null ? undefined : draft.image || undefined,
    shared_memory:
      engine.shared_memory && memory !== ''
        ? Math.round(Number(memory) * GIB)
        : undefined,
    ...(engine.pod_fields ? pods.request : {}),
    storage: engine.storage === null ? undefined : pods.request.storage,
    script: draft.script.trim() || undefined
  };
  return {
    request: Object.keys(problems).length === 0 ? request : null,
    problems
  };
}

/** The field of the form that the server's field path names. */
export function formField(path: string): keyof ICreateDraft | null {
  const fields: Record<string, keyof ICreateDraft> = {
    name: 'name',
    framework: 'framework',
    size: 'size',
    engine: 'engine',
    launcher_mode: 'launcherMode',
    gpus_per_container: 'gpus',
    gpu_kind: 'gpuKind',
    image: 'image',
    shared_memory: 'sharedMemory',
    storage: 'storage',
    cpu: 'cpu',
    memory: 'memory',
    env: 'env',
    secret_env: 'secretEnv',
    node_selector: 'nodeSelector',
    tolerations: 'tolerations',
    script: 'script'
  };
  // The server names a row, such as env[0].name, or env.NAME.
  return fields[path.split(/[[.]/)[0]] ?? null;
}

function freeName(taken: readonly string[]): string {
  let name = 'training';
  for (let number = 2; taken.includes(name); number++) {
    name = `training-${number}`;
  }
  return name;
}
