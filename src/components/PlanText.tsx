import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IPlan } from '../api';
import type { RequestError } from '../request';

/** What Apply would do. */
export function PlanText(props: {
  id: string;
  plan: IPlan | null;
  problem: RequestError | null;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { id, plan, problem, trans } = props;
  if (problem !== null) {
    return (
      <div id={id} className="jp-ElasticPlan jp-mod-error" role="alert">
        <p>
          {problem.message} {problem.hint}
        </p>
      </div>
    );
  }
  if (plan === null) {
    return (
      <div id={id} className="jp-ElasticPlan">
        <p>{trans.__('Working out the plan…')}</p>
      </div>
    );
  }
  return (
    <div id={id} className="jp-ElasticPlan">
      <p>{plan.text}</p>
      {plan.warnings.map((warning, index) => (
        <p key={index} className="jp-mod-warning">
          <span aria-hidden="true">⚠ </span>
          {warning}
        </p>
      ))}
    </div>
  );
}
