import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster } from '../api';
import { clusterWord, readyWords } from '../wording';

/** The least time between two announcements, in ms. */
export const ANNOUNCE_INTERVAL = 3000;

/** Tells a screen reader about settled changes of the cluster, politely and not too often. */
export function LiveRegion(props: {
  cluster: ICluster | null;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { cluster, trans } = props;
  const settled =
    cluster !== null && ['ready', 'degraded', 'ended'].includes(cluster.state);
  const words = settled
    ? `${cluster.name}: ${clusterWord(cluster.state, trans)}, ${readyWords(cluster, trans)}`
    : '';
  const [said, setSaid] = React.useState('');
  const last = React.useRef(0);
  React.useEffect(() => {
    if (words === '') {
      return;
    }
    const wait = Math.max(0, last.current + ANNOUNCE_INTERVAL - Date.now());
    const timer = window.setTimeout(() => {
      last.current = Date.now();
      setSaid(words);
    }, wait);
    return () => window.clearTimeout(timer);
  }, [words]);
  return (
    <div className="jp-sr-only" role="status" aria-live="polite">
      {said}
    </div>
  );
}
