import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, IRun } from '../api';
import { containersFor, isLive } from '../state';
import type { IElasticActions } from '../tokens';
import { runSign, runTitle, runWord } from '../wording';
import { Age } from './Age';
import { Button } from './Button';
import { MiddleCut } from './MiddleCut';
import { useAction } from './useAction';

export interface IRunRowProps {
  cluster: ICluster;
  run: IRun;
  actions: IElasticActions;
  trans: TranslationBundle;
}

/** One run: what, how long, on how many, how it ended. One that is over takes two lines. */
export function RunRow(props: IRunRowProps): React.JSX.Element {
  const { cluster, run, actions, trans } = props;
  const [busy, start] = useAction(actions);
  const live = isLive(run);
  const log = run.found ? null : (
    <Button
      disabled={busy}
      onClick={() => start(() => actions.showRunLog(cluster.id, run.id))}
    >
      {trans.__('Log')}
    </Button>
  );
  return (
    <li className={`jp-ElasticRun jp-mod-${run.state}`}>
      <div className="jp-ElasticRun-line" title={run.text}>
        <span aria-hidden="true">{runSign(run.state)}</span>
        <b>
          <MiddleCut text={runTitle(run)} />
        </b>
        {!live && log}
      </div>
      <p className="jp-ElasticRun-state">
        {live || run.ended === null
          ? runWord(run, trans)
          : trans.__('%1 after', runWord(run, trans))}{' '}
        {(live || run.ended !== null) && (
          <Age
            since={run.started}
            until={live ? null : run.ended}
            trans={trans}
          />
        )}
        {!live && run.exit !== null && run.exit !== 0 && (
          <>
            {' · '}
            <span>{trans.__('exit %1', run.exit)}</span>
          </>
        )}
        {run.found && <> · {trans.__('found')}</>}
        {live && run.np !== null && <> · {Private.size(cluster, run, trans)}</>}
      </p>
      {run.reason !== null && (
        <p className="jp-ElasticRun-reason" title={run.reason.detail}>
          {run.reason.text}
        </p>
      )}
      {live && (
        <div className="jp-ElasticRow">
          {log}
          {run.shell !== null && (
            <Button
              disabled={busy}
              onClick={() =>
                start(() => actions.openRunTerminal(cluster.id, run.id))
              }
            >
              {trans.__('Terminal')}
            </Button>
          )}
          <Button
            disabled={busy || run.state === 'stopping'}
            onClick={() => start(() => actions.stopRun(cluster.id, run.id))}
          >
            {trans.__('Stop')}
          </Button>
        </div>
      )}
    </li>
  );
}

namespace Private {
  /** "started with 2, takes 1–8"; the unit stands beside the slider. */
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
      'started with %1, takes %2–%3',
      containersFor(cluster, np),
      containersFor(cluster, run.min_np),
      containersFor(cluster, run.max_np)
    );
  }
}
