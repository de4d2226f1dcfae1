/** What commands take: ids and whole numbers, checked before anything is done. */
import type {
  ReadonlyJSONObject,
  ReadonlyPartialJSONObject
} from '@lumino/coreutils';

/** The arguments of our commands, checked. */
export interface ICommandArguments {
  cluster?: string;
  container?: string;
  run?: string;
  size?: number;
}

/** Arguments that a command cannot take. */
export class BadArguments extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BadArguments';
  }
}

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

/** Read the arguments, or throw {@link BadArguments} naming the one that is wrong. */
export function readArguments(
  args: ReadonlyPartialJSONObject
): ICommandArguments {
  const { cluster, container, run, size } = args;
  return {
    cluster: readId('cluster', cluster),
    container: readId('container', container),
    run: readId('run', run),
    size: readSize(size)
  };
}

function readId(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== 'string' || !ID.test(value)) {
    throw new BadArguments(`"${name}" must be an id.`);
  }
  return value;
}

function readSize(value: unknown): number | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw new BadArguments('"size" must be a whole number from 1 on.');
  }
  return value;
}

const PROPERTIES = {
  cluster: {
    type: 'string',
    description: 'Id of the cluster; default: the one shown in the panel'
  },
  container: { type: 'string', description: 'Name of the container' },
  run: { type: 'string', description: 'Id of the run' },
  size: {
    type: 'integer',
    minimum: 1,
    description: 'Number of containers, launcher included'
  }
} as const;

/** The JSON schema of a command's arguments. */
export function argumentSchema(
  names: readonly (keyof ICommandArguments)[],
  required: readonly (keyof ICommandArguments)[] = []
): ReadonlyJSONObject {
  return {
    type: 'object',
    properties: Object.fromEntries(names.map(name => [name, PROPERTIES[name]])),
    required: [...required]
  };
}
