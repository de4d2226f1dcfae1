import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICheck } from '../api';

/** Checks with their result as a sign and a word, and what to do about the failed ones. */
export function CheckList(props: {
  checks: readonly ICheck[];
  trans: TranslationBundle;
}): React.JSX.Element {
  const { trans } = props;
  const word = (ok: boolean | null): string =>
    ok === null
      ? trans.__('not known')
      : ok
        ? trans.__('fine')
        : trans.__('failed');
  return (
    <ul className="jp-ElasticChecks">
      {props.checks.map(check => (
        <li
          key={check.name}
          className={check.ok === false ? 'jp-mod-failed' : undefined}
        >
          <span aria-hidden="true" className="jp-ElasticChecks-sign">
            {check.ok === null ? '?' : check.ok ? '✓' : '✕'}
          </span>
          <span>
            <b>{check.name}</b> ({word(check.ok)}): {check.text}
            {check.fix !== '' && check.ok !== true && (
              <span className="jp-ElasticChecks-fix">{check.fix}</span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
