import type { TranslationBundle } from '@jupyterlab/translation';
import { copyIcon, runIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import type { ICluster } from '../api';
import type { IElasticActions, IElasticModel } from '../tokens';
import { Button } from './Button';
import { useAction } from './useAction';

export interface ILaunchCommandProps {
  model: IElasticModel;
  actions: IElasticActions;
  cluster: ICluster;
  trans: TranslationBundle;
}

/** The command as it would be typed, with Copy, and the button that types it. */
export function LaunchCommand(props: ILaunchCommandProps): React.JSX.Element {
  const { model, actions, cluster, trans } = props;
  const id = React.useId();
  const [busy, run] = useAction(actions);
  const launch = model.launch?.cluster === cluster.id ? model.launch : null;
  const program =
    launch?.program ??
    model.options?.frameworks.find(item => item.name === cluster.framework)
      ?.program ??
    cluster.framework;
  const reason = Private.reason(model, launch !== null, trans);
  return (
    <>
      {launch !== null && launch.text !== '' && (
        <div className="jp-ElasticCommand">
          <code tabIndex={0} aria-label={trans.__('Command')}>
            {Private.words(launch.text)}
          </code>
        </div>
      )}
      {launch?.warnings.map((warning, index) => (
        <p key={index} className="jp-ElasticPlan jp-mod-warning">
          <span aria-hidden="true">⚠ </span>
          {warning}
        </p>
      ))}
      <div className="jp-ElasticRow">
        <Button
          accept
          className="jp-ElasticLaunch-button"
          disabled={busy || reason !== ''}
          describedBy={`${id}-why`}
          onClick={() => run(() => actions.openLaunchTerminal(cluster.id))}
        >
          <runIcon.react tag="span" elementSize="normal" />
          {trans.__('launch %1', program)}
        </Button>
        {launch !== null && launch.text !== '' && (
          <button
            type="button"
            className="jp-ElasticIconButton"
            aria-label={trans.__('Copy the command')}
            title={trans.__('Copy the command')}
            onClick={() => run(() => actions.copyLaunchCommand(cluster.id))}
          >
            <copyIcon.react tag="span" elementSize="normal" />
          </button>
        )}
      </div>
      <p id={`${id}-why`} className="jp-ElasticNote">
        {reason !== ''
          ? reason
          : trans.__('Opens a terminal; press Enter there.')}
      </p>
    </>
  );
}

namespace Private {
  /** The words of a command, each kept in one piece as long as a line holds it. */
  export function words(text: string): React.ReactNode[] {
    return text.split(' ').map((word, place) => (
      <React.Fragment key={place}>
        {place > 0 && ' '}
        <span className="jp-ElasticCommand-word">{word}</span>
      </React.Fragment>
    ));
  }

  /** Why the button cannot be pressed; '' when it can. */
  export function reason(
    model: IElasticModel,
    known: boolean,
    trans: TranslationBundle
  ): string {
    if (!known) {
      return model.launchProblem?.message ?? trans.__('Reading the command…');
    }
    if (model.launch?.ready !== true) {
      return model.launch?.reason?.text ?? trans.__('Not ready yet.');
    }
    if (model.options?.terminals === false) {
      return trans.__(
        'Terminals are switched off on this server: copy the command.'
      );
    }
    return '';
  }
}
