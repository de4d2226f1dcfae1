import * as React from 'react';
import { formatCountdown } from '../format';
import { useNow } from './clock';

/** The time until an instant. */
export function Countdown(props: { due: number }): React.JSX.Element {
  const now = useNow();
  return (
    <span className="jp-ElasticAge" role="timer">
      {formatCountdown(props.due - now)}
    </span>
  );
}
