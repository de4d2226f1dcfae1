import * as React from 'react';
import type { ICluster, IPlan } from '../api';
import { RequestError } from '../request';
import type { IElasticModel } from '../tokens';

/** How long the thumb rests before its plan is asked for, in ms. */
export const PLAN_DELAY = 250;

/** The plan for a size that was chosen and not applied; nothing while there is none. */
export function usePlan(
  model: IElasticModel,
  cluster: ICluster,
  draft: number | null
): { plan: IPlan | null; problem: RequestError | null } {
  const [plan, setPlan] = React.useState<IPlan | null>(null);
  const [problem, setProblem] = React.useState<RequestError | null>(null);
  const { id, target, ready } = cluster;
  React.useEffect(() => {
    if (draft === null) {
      setPlan(null);
      setProblem(null);
      return;
    }
    let current = true;
    const ask = async (): Promise<void> => {
      let next: IPlan | null = null;
      let failure: RequestError | null = null;
      try {
        next = await model.api.plan(id, draft);
      } catch (error) {
        failure = RequestError.from(error);
      }
      if (current) {
        setPlan(next);
        setProblem(failure);
      }
    };
    const timer = window.setTimeout(() => void ask(), PLAN_DELAY);
    return () => {
      current = false;
      window.clearTimeout(timer);
    };
  }, [model, id, draft, target, ready]);
  return { plan: plan?.target === draft ? plan : null, problem };
}
