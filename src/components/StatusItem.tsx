import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IElasticModel } from '../tokens';
import { summaryWords } from '../wording';

/** "2/2 containers · 2 GPUs"; opens the panel. */
export function StatusItem(props: {
  model: IElasticModel;
  onOpen: () => void;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { model, onOpen, trans } = props;
  const words = summaryWords(model.clusters, trans);
  const stale =
    model.problem !== null ||
    model.state?.engines.some(engine => engine.health.state !== 'live') ===
      true;
  return (
    <button
      type="button"
      className="jp-ElasticStatus"
      title={trans.__('Show the training clusters')}
      onClick={onOpen}
    >
      {words}
      {stale && <> ({trans.__('last known')})</>}
    </button>
  );
}
