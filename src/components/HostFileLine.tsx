import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster } from '../api';
import { formatClock } from '../format';
import { MiddleCut } from './MiddleCut';

/** The folder that the tutorials name. */
const USUAL_FOLDER = '/etc/mpi';

export interface IHostFileLineProps {
  cluster: ICluster;
  clusters: readonly ICluster[];
  trans: TranslationBundle;
}

/** Which host file it is, whether it shows the agreed list, and why it is not the usual one. */
export function HostFileLine(props: IHostFileLineProps): React.JSX.Element {
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
  const why = Private.whyElsewhere(props);
  return (
    <>
      <div className="jp-ElasticHostFile">
        <code>
          <MiddleCut text={hostfile.hostfile} end={9} />
        </code>
        <span>
          {hostfile.in_sync
            ? trans._n('%1 rank', '%1 ranks', np)
            : trans.__('being written')}
        </span>
      </div>
      {why !== null && (
        <p className="jp-ElasticHostFile-why" title={why.detail}>
          {why.text}
        </p>
      )}
    </>
  );
}

namespace Private {
  /** Why the host file is in a folder of its own; `null` when it is in the usual one. */
  export function whyElsewhere(
    props: IHostFileLineProps
  ): { text: string; detail: string } | null {
    const { cluster, clusters, trans } = props;
    const { folder, reason } = cluster.hostfile;
    if (folder === USUAL_FOLDER) {
      return null;
    }
    if (reason !== null) {
      return reason;
    }
    const holder = clusters.find(
      other => other.id !== cluster.id && other.hostfile.folder === USUAL_FOLDER
    );
    if (holder !== undefined) {
      return {
        text: trans.__('%1 belongs to %2.', USUAL_FOLDER, holder.name),
        detail: trans.__('It is given to one cluster of a machine at a time.')
      };
    }
    return {
      text: trans.__('%1 could not be used here.', USUAL_FOLDER),
      detail: trans.__(
        'Another cluster of this machine has it, it cannot be written, or the server is set to another folder: "jupyter elastic doctor" says which.'
      )
    };
  }
}
