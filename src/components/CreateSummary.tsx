import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICreateRequest, IPlan } from '../api';
import { RequestError } from '../request';
import type { IElasticModel } from '../tokens';

/** How long the form rests before the server is asked what would happen, in ms. */
const CHECK_DELAY = 500;

export interface ICreateSummaryProps {
  model: IElasticModel;
  request: ICreateRequest | null;
  trans: TranslationBundle;
}

/** What Create would do, as the server says; nothing is made by asking. */
export function CreateSummary(
  props: ICreateSummaryProps
): React.JSX.Element | null {
  const { model, trans } = props;
  const [plan, setPlan] = React.useState<IPlan | null>(null);
  const [problem, setProblem] = React.useState<RequestError | null>(null);
  const key = props.request === null ? '' : JSON.stringify(props.request);
  React.useEffect(() => {
    setPlan(null);
    setProblem(null);
    if (key === '') {
      return;
    }
    let current = true;
    const check = async (): Promise<void> => {
      let next: IPlan | null = null;
      let failure: RequestError | null = null;
      try {
        next = await model.api.checkCreate(JSON.parse(key) as ICreateRequest);
      } catch (error) {
        failure = RequestError.from(error);
      }
      if (current) {
        setPlan(next);
        setProblem(failure);
      }
    };
    const timer = window.setTimeout(() => void check(), CHECK_DELAY);
    return () => {
      current = false;
      window.clearTimeout(timer);
    };
  }, [model, key]);
  if (problem !== null) {
    return (
      <p className="jp-ElasticPlan jp-mod-warning">
        <span aria-hidden="true">⚠ </span>
        {problem.message} {problem.hint}
      </p>
    );
  }
  return (
    <div className="jp-ElasticPlan">
      <p>{plan?.text ?? (key === '' ? '' : trans.__('Checking…'))}</p>
      {plan?.warnings.map((warning, index) => (
        <p key={index} className="jp-mod-warning">
          <span aria-hidden="true">⚠ </span>
          {warning}
        </p>
      ))}
    </div>
  );
}
