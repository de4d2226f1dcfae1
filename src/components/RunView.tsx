import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, IRun } from '../api';
import { isLive } from '../state';
import type { IElasticActions } from '../tokens';
import { RunRow } from './RunRow';

/** The runs of a cluster: all living ones and the last that ended; the others are folded away. */
export function RunView(props: {
  cluster: ICluster;
  actions: IElasticActions;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { cluster, actions, trans } = props;
  if (cluster.runs.length === 0) {
    return (
      <p className="jp-ElasticNote">{trans.__('Nothing has run here yet.')}</p>
    );
  }
  const [last, ...past] = cluster.runs
    .filter(run => !isLive(run))
    .sort((a, b) => b.started - a.started);
  const list = (runs: readonly IRun[]): React.JSX.Element => (
    <ul className="jp-ElasticRuns">
      {runs.map(run => (
        <RunRow
          key={run.id}
          cluster={cluster}
          run={run}
          actions={actions}
          trans={trans}
        />
      ))}
    </ul>
  );
  const live = cluster.runs.filter(isLive);
  return (
    <>
      {list(last === undefined ? live : [...live, last])}
      {past.length > 0 && (
        <details className="jp-ElasticDetails">
          <summary>{trans.__('Past runs (%1)', past.length)}</summary>
          {list(past)}
        </details>
      )}
    </>
  );
}
