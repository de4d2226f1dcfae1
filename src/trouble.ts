/** Failures in words: what is, why, what to do. Pure. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IEngineStatus } from './api';
import { formatClock } from './format';
import type { RequestError } from './request';

/** One trouble as the banner shows it. */
export interface ITrouble {
  key: string;
  text: string;
  hint: string;

  /** A command that shows more; '' when there is none. */
  command: string;

  /** Whether trying again may help. */
  retry: boolean;
}

/** Why the state cannot be read. `asOf` is when it was last read, '' for never. */
export function bannerOfProblem(
  problem: RequestError,
  asOf: string,
  trans: TranslationBundle
): ITrouble {
  const key = problem.kind;
  const stale =
    asOf === ''
      ? ''
      : trans.__(
          'Shown: the last known state, as of %1. Training is not touched.',
          asOf
        );
  if (problem.serverHalfMissing) {
    return {
      key,
      text: trans.__(
        'The server half of jupyter_elastic is not installed or not enabled.'
      ),
      hint: trans.__('Check it where Jupyter runs, then restart Jupyter:'),
      command: 'jupyter server extension list',
      retry: true
    };
  }
  switch (problem.kind) {
    case 'offline':
      return {
        key,
        text: trans.__('The Jupyter server does not answer.'),
        hint: stale,
        command: '',
        retry: true
      };
    case 'forbidden':
      return {
        key,
        text: trans.__(
          'You may not see training clusters on this server: %1',
          problem.message
        ),
        hint:
          problem.hint ||
          trans.__('Ask its administrator for the permission "elastic: read".'),
        command: '',
        retry: true
      };
    default:
      return {
        key,
        text: trans.__('The clusters cannot be read: %1', problem.message),
        hint: problem.hint || stale,
        command: '',
        retry: true
      };
  }
}

/** Why an engine does not see its world, or `null` when it does. */
export function bannerOfEngine(
  engine: IEngineStatus,
  trans: TranslationBundle
): ITrouble | null {
  const { health, title } = engine;
  const since = formatClock(health.since);
  const text = health.text;
  const trouble = (sentence: string, hint: string): ITrouble => ({
    key: `${engine.name}-${health.state}`,
    text: sentence,
    hint: [text, hint].filter(part => part !== '').join(' '),
    command: '',
    retry: true
  });
  switch (health.state) {
    case 'live':
    case 'starting':
      return null;
    case 'stale':
      return trouble(
        trans.__('%1 does not answer since %2.', title, since),
        trans.__('Shown: the last known state. Training is not touched.')
      );
    case 'forbidden':
      return trouble(
        trans.__('%1 refuses what this server asks for.', title),
        trans.__('Ask its administrator for the missing permission.')
      );
    case 'unauthenticated':
      return trouble(
        trans.__('%1 does not know this server any more.', title),
        trans.__('Sign in again, or ask its administrator.')
      );
    case 'gone':
      return trouble(trans.__('%1 is gone since %2.', title, since), '');
    default:
      return trouble(trans.__('%1 failed.', title), '');
  }
}
