import * as React from 'react';
import type { IElasticActions } from '../tokens';

/** Run something the person asked for: one at a time, a failure is shown. */
export function useAction(
  actions: Pick<IElasticActions, 'report'>
): [boolean, (action: () => Promise<unknown>) => void] {
  const [busy, setBusy] = React.useState(false);
  const alive = React.useRef(true);
  React.useEffect(() => {
    alive.current = true;
    return () => {
      alive.current = false;
    };
  }, []);
  const run = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    try {
      await action();
    } catch (error) {
      actions.report(error);
    }
    if (alive.current) {
      setBusy(false);
    }
  };
  return [
    busy,
    action => {
      if (!busy) {
        void run(action);
      }
    }
  ];
}
