import type { TranslationBundle } from '@jupyterlab/translation';
import { addIcon, refreshIcon } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import { CommandIDs } from '../tokens';

/** The panel's title with its two buttons. */
export function PanelHeader(props: {
  commands: CommandRegistry;
  creating: boolean;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { commands, trans } = props;
  return (
    <div className="jp-ElasticHeader">
      <h2 className="jp-ElasticHeader-title">{trans.__('Elastic')}</h2>
      <button
        type="button"
        className="jp-ElasticIconButton"
        aria-label={trans.__('New cluster')}
        title={trans.__('New cluster')}
        aria-pressed={props.creating}
        onClick={() => void commands.execute(CommandIDs.createCluster)}
      >
        <addIcon.react tag="span" elementSize="normal" />
      </button>
      <button
        type="button"
        className="jp-ElasticIconButton"
        aria-label={trans.__('Read again')}
        title={trans.__('Read again')}
        onClick={() => void commands.execute(CommandIDs.refresh)}
      >
        <refreshIcon.react tag="span" elementSize="normal" />
      </button>
    </div>
  );
}
