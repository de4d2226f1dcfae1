import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, IRun } from '../api';
import { containersFor, isLive } from '../state';
import type { IElasticActions } from '../tokens';
import { runSign, runWord } from '../wording';
import { Age } from './Age';
import { Button } from './Button';
import { useAction } from './useAction';

export interface IRunRowProps {
  cluster: ICluster;
  run: IRun;
  actions: IElasticActions;
  trans: TranslationBundle;
}

/** One run: what, how long, on how many, how it ended. */
export function RunRow(props: IRunRowProps): React.JSX.Element {
  const { cluster, run, actions, trans } = props;
  const [busy, start] = useAction(actions);
  const live = isLive(run);
  return (
    <li className={`jp-ElasticRun jp-mod-${run.state}`}>
      <p className="jp-ElasticRun-line" title={run.text}>
        <span aria-hidden="true">{runSign(run.state)} </span>
        <b>{Private.title(run)}</b> {runWord(run, trans)}{' '}
        <Age
          since={run.started}
          until={live ? null : run.ended}
          trans={trans}
        />
        {run.exit !== null && !live && (
          <span> {trans.__('exit %1', run.exit)}</span>
        )}
        {run.found && <span> {trans.__('found')}</span>}
      </p>
      {live && run.np !== null && (
        <p className="jp-ElasticNote">{Private.size(cluster, run, trans)}</p>
      )}
      {run.reason !== null && (
        <p className="jp-ElasticRun-reason" title={run.reason.detail}>
          {run.reason.text}
        </p>
      )}
      <div className="jp-ElasticRow">
        {!run.found && (
          <Button
            disabled={busy}
            onClick={() => start(() => actions.showRunLog(cluster.id, run.id))}
          >
            {trans.__('Log')}
          </Button>
        )}
        {live && run.shell !== null && (
          <Button
            disabled={busy}
            onClick={() =>
              start(() => actions.openRunTerminal(cluster.id, run.id))
            }
          >
            {trans.__('Terminal')}
          </Button>
        )}
        {live && (
          <Button
            disabled={busy || run.state === 'stopping'}
            onClick={() => start(() => actions.stopRun(cluster.id, run.id))}
          >
            {trans.__('Stop')}
          </Button>
        )}
      </div>
    </li>
  );
}

namespace Private {
  /** The script's name, else the program's. */
  export function title(run: IRun): string {
    const script = run.argv.find(word => word.endsWith('.py'));
    return script?.split('/').pop() ?? run.program;
  }

  /** "size 2 (1 to 8)". */
  export function size(
    cluster: ICluster,
    run: IRun,
    trans: TranslationBundle
  ): string {
    const np = run.np ?? 0;
    if (!run.elastic || run.min_np === null || run.max_np === null) {
      return trans._n('started with %1 rank', 'started with %1 ranks', np);
    }
    return trans.__(
      'started with %1, takes %2 to %3 containers',
      containersFor(cluster, np),
      containersFor(cluster, run.min_np),
      containersFor(cluster, run.max_np)
    );
  }
}
