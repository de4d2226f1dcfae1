import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IEngineStatus } from '../api';
import { formatClock } from '../format';
import type { IElasticActions, IElasticModel } from '../tokens';
import { bannerOfEngine, bannerOfProblem } from '../trouble';
import type { ITrouble } from '../trouble';
import { Button } from './Button';
import { useAction } from './useAction';

export interface IBannerProps {
  model: IElasticModel;
  actions: IElasticActions;
  trans: TranslationBundle;
}

/** What is wrong, why, and what to do about it. Nothing when all is well. */
export function Banner(props: IBannerProps): React.JSX.Element | null {
  const { model, actions, trans } = props;
  const [busy, run] = useAction(actions);
  const troubles = collect(model, trans);
  if (troubles.length === 0) {
    return null;
  }
  return (
    <>
      {troubles.map(trouble => (
        <div
          key={trouble.key}
          className="jp-ElasticBanner jp-mod-warning"
          role="alert"
        >
          <p>
            <span aria-hidden="true">⚠ </span>
            {trouble.text}
          </p>
          {trouble.hint !== '' && <p>{trouble.hint}</p>}
          {trouble.command !== '' && <code>{trouble.command}</code>}
          {trouble.retry && (
            <Button disabled={busy} onClick={() => run(() => model.refresh())}>
              {trans.__('Try now')}
            </Button>
          )}
        </div>
      ))}
    </>
  );
}

function collect(model: IElasticModel, trans: TranslationBundle): ITrouble[] {
  const asOf = model.asOf === null ? '' : formatClock(model.asOf / 1000);
  if (model.problem !== null) {
    return [bannerOfProblem(model.problem, asOf, trans)];
  }
  const engines: readonly IEngineStatus[] = model.state?.engines ?? [];
  const troubles = engines
    .map(engine => bannerOfEngine(engine, trans))
    .filter(trouble => trouble !== null);
  if (model.serverReplaced) {
    troubles.push({
      key: 'replaced',
      text: trans.__('The server half was updated since this page was loaded.'),
      hint: trans.__('Reload the page to get the matching panel.'),
      command: '',
      retry: false
    });
  }
  return troubles;
}
