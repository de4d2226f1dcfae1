import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { formatDuration } from '../format';
import { useNow } from './clock';

/** How long ago an instant was. It ticks here; no answer of the server holds an age. */
export function Age(props: {
  since: number;
  until?: number | null;
  trans: TranslationBundle;
}): React.JSX.Element {
  const now = useNow();
  return (
    <span className="jp-ElasticAge">
      {formatDuration((props.until ?? now) - props.since, props.trans)}
    </span>
  );
}
