import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IOptions } from '../api';
import { Button } from './Button';

export interface IEmptyStateProps {
  options: IOptions | null;
  onCreate: () => void;
  onExample: () => void;
  trans: TranslationBundle;
}

/** What a cluster is, what there is to make one from, and how to begin. */
export function EmptyState(props: IEmptyStateProps): React.JSX.Element {
  const { options, trans } = props;
  const engine =
    options?.engines.find(item => item.name === options.default_engine) ??
    options?.engines[0];
  return (
    <div className="jp-ElasticEmpty">
      <p>
        <b>{trans.__('No training cluster yet.')}</b>
      </p>
      <p>
        {trans.__(
          'A cluster is a launcher and its workers; it can grow and shrink while you train.'
        )}
      </p>
      {engine && <p>{trans.__('Here: %1.', engine.summary)}</p>}
      <div className="jp-ElasticRow">
        <Button accept onClick={props.onCreate}>
          {trans.__('Create a cluster')}
        </Button>
        {options?.example && (
          <Button onClick={props.onExample}>
            {trans.__('Try the example')}
          </Button>
        )}
      </div>
    </div>
  );
}
