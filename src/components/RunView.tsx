import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, IRun } from '../api';
import { isLive } from '../state';
import type { IElasticActions } from '../tokens';
import { Button } from './Button';
import { RunRow } from './RunRow';

/** How many ended runs are shown before the person asks for all. */
const ENDED_SHOWN = 2;

/** The runs of a cluster: all living ones, and what became of the last. */
export function RunView(props: {
  cluster: ICluster;
  actions: IElasticActions;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { cluster, actions, trans } = props;
  const [all, setAll] = React.useState(false);
  if (cluster.runs.length === 0) {
    return (
      <p className="jp-ElasticNote">{trans.__('Nothing has run here yet.')}</p>
    );
  }
  const ended = cluster.runs.filter(run => !isLive(run));
  const shown: IRun[] = [
    ...cluster.runs.filter(isLive),
    ...(all ? ended : ended.slice(0, ENDED_SHOWN))
  ];
  const more = cluster.runs.length - shown.length;
  return (
    <>
      <ul className="jp-ElasticRuns">
        {shown.map(run => (
          <RunRow
            key={run.id}
            cluster={cluster}
            run={run}
            actions={actions}
            trans={trans}
          />
        ))}
      </ul>
      {more > 0 && (
        <Button onClick={() => setAll(true)}>
          {trans._n('%1 older run', '%1 older runs', more)}
        </Button>
      )}
    </>
  );
}
