import * as React from 'react';
import type { ICluster, IClusterSettings } from '../api';
import { RequestError } from '../request';
import type { IElasticActions, IElasticModel } from '../tokens';

type Patch = Partial<IClusterSettings>;
type Key = keyof IClusterSettings;

/** What was typed stays when it is refused; a choice goes back. */
const TYPED: readonly Key[] = ['script', 'arguments', 'min_size', 'max_size'];

export interface IChanges {
  /** The settings with what is on its way. */
  settings: IClusterSettings;

  /** What the server said about what was typed. */
  refused: Partial<Record<Key, string>>;
  change: (patch: Patch) => void;
}

/** Change the settings of a cluster: one after the other, shown at once. */
export function useChanges(
  model: IElasticModel,
  actions: Pick<IElasticActions, 'report'>,
  cluster: ICluster
): IChanges {
  const [pending, setPending] = React.useState<Patch>({});
  const [refused, setRefused] = React.useState<IChanges['refused']>({});
  const last = React.useRef<Promise<void>>(Promise.resolve());
  const alive = React.useRef(true);
  React.useEffect(() => {
    alive.current = true;
    return () => {
      alive.current = false;
    };
  }, []);

  const settle = (patch: Patch, error: RequestError | null): void => {
    const keys = Object.keys(patch) as Key[];
    const kept = error === null ? [] : keys.filter(key => TYPED.includes(key));
    if (error !== null && kept.length === 0) {
      actions.report(error);
    }
    if (!alive.current) {
      return;
    }
    for (const key of keys) {
      const words = error === null ? '' : `${error.message} ${error.hint}`;
      const stays = kept.includes(key);
      // A later value of the same setting is still on its way, and stays shown.
      setPending(now =>
        now[key] === patch[key] && !stays ? { ...now, [key]: undefined } : now
      );
      setRefused(now => ({ ...now, [key]: stays ? words.trim() : undefined }));
    }
  };
  const send = async (patch: Patch): Promise<void> => {
    try {
      await model.api.change(cluster.id, patch);
      await model.refresh();
      settle(patch, null);
    } catch (error) {
      settle(patch, RequestError.from(error));
    }
  };
  const change = (patch: Patch): void => {
    setPending(now => ({ ...now, ...patch }));
    last.current = last.current.then(() => send(patch));
  };

  const { framework } = cluster;
  const settings = { ...cluster.settings, framework };
  const shown = Object.entries(pending).filter(
    ([, value]) => value !== undefined
  );
  return {
    settings: { ...settings, ...Object.fromEntries(shown) },
    refused,
    change
  };
}
