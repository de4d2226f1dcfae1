import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, IOffer } from '../api';
import { gpuCount } from '../state';
import type { IElasticActions, IElasticModel } from '../tokens';
import { Button } from './Button';
import { Countdown } from './Countdown';
import { useAction } from './useAction';

export interface IOffersProps {
  model: IElasticModel;
  actions: IElasticActions;
  cluster: ICluster;
  trans: TranslationBundle;
}

/** Decisions that wait for the person, each with the time until its default is taken. */
export function Offers(props: IOffersProps): React.JSX.Element | null {
  const { model, actions, cluster, trans } = props;
  const [busy, run] = useAction(actions);
  if (cluster.offers.length === 0) {
    return null;
  }
  const answer = async (offer: IOffer, choice: string): Promise<void> => {
    if (offer.kind === 'release' && choice === 'release') {
      // Shows all that goes, like the button above.
      await actions.release(cluster.id);
      return;
    }
    await model.api.answer(cluster.id, offer, choice);
    await model.refresh();
  };
  return (
    <>
      {cluster.offers.map(offer => (
        <div
          key={`${offer.kind}-${offer.container ?? ''}-${offer.run ?? ''}`}
          className="jp-ElasticBanner jp-mod-offer"
          role="group"
          aria-label={offer.text}
        >
          <p>
            {offer.text}{' '}
            {offer.due !== null && (
              <>
                <span className="jp-ElasticNote">
                  {Private.whenDue(offer, gpuCount(cluster), trans)}
                </span>{' '}
                <Countdown due={offer.due} />
              </>
            )}
          </p>
          <div className="jp-ElasticRow">
            {offer.choices.map(choice => (
              <Button
                key={choice}
                disabled={busy}
                onClick={() => run(() => answer(offer, choice))}
              >
                {Private.label(offer, choice, trans)}
              </Button>
            ))}
          </div>
        </div>
      ))}
    </>
  );
}

namespace Private {
  export function whenDue(
    offer: IOffer,
    gpus: number,
    trans: TranslationBundle
  ): string {
    if (offer.kind === 'drain') {
      return trans.__('Deleted in');
    }
    return gpus === 0
      ? trans.__('Given back in')
      : trans._n('%1 GPU goes back in', '%1 GPUs go back in', gpus);
  }

  export function label(
    offer: IOffer,
    choice: string,
    trans: TranslationBundle
  ): string {
    const labels: Record<string, string> = {
      wait: trans.__('Wait'),
      delete: trans.__('Delete now'),
      keep: offer.kind === 'drain' ? trans.__('Keep it') : trans.__('Keep'),
      release: trans.__('Release now')
    };
    return labels[choice] ?? choice;
  }
}
