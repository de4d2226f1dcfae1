import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, IOffer } from '../api';
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
                  {Private.whenDue(offer, trans)}
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
  export function whenDue(offer: IOffer, trans: TranslationBundle): string {
    return offer.kind === 'release'
      ? trans.__('Given back in')
      : trans.__('Deleted in');
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
