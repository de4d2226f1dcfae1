import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster } from '../api';
import { formatClock } from '../format';

/** Which host file it is, and whether it shows the agreed list. */
export function HostFileLine(props: {
  cluster: ICluster;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { trans } = props;
  const { hostfile, np } = props.cluster;
  if (hostfile.frozen_since !== null) {
    return (
      <div className="jp-ElasticBanner jp-mod-warning" role="alert">
        <p>
          {trans.__(
            'The host file %1 is frozen since %2.',
            hostfile.hostfile,
            formatClock(hostfile.frozen_since)
          )}
        </p>
        {hostfile.reason !== null && <p>{hostfile.reason.text}</p>}
      </div>
    );
  }
  return (
    <p className="jp-ElasticNote">
      <code title={hostfile.hostfile}>{hostfile.hostfile}</code>
      {': '}
      {hostfile.in_sync
        ? trans._n('%1 rank', '%1 ranks', np)
        : trans.__('being written')}
    </p>
  );
}
