import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import type { ICluster } from '../api';
import { openMenu } from '../menus';
import { CommandIDs } from '../tokens';
import { clusterWord } from '../wording';
import { Button } from './Button';

export interface IClusterHeaderProps {
  cluster: ICluster;
  clusters: readonly ICluster[];
  onSelect: (id: string) => void;
  showGpus: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** Which cluster is shown, what it is and how it is; with a choice where there are several. */
export function ClusterHeader(props: IClusterHeaderProps): React.JSX.Element {
  const { cluster, clusters, commands, trans } = props;
  const open = (event: React.MouseEvent<HTMLButtonElement>): void => {
    const args = { cluster: cluster.id };
    openMenu(commands, event.currentTarget, [
      { command: CommandIDs.copyCode, args },
      { command: CommandIDs.preflight, args },
      { command: CommandIDs.showHistory, args },
      { type: 'separator' },
      { command: CommandIDs.releaseCluster, args }
    ]);
  };
  // What a container's own row says is not said twice.
  const inTable = cluster.containers.some(
    container => container.reason?.text === cluster.reason?.text
  );
  const reason = inTable ? null : cluster.reason;
  return (
    <div className="jp-ElasticCluster">
      <div className="jp-ElasticCluster-line">
        {clusters.length > 1 ? (
          <select
            className="jp-ElasticInput jp-ElasticCluster-select"
            aria-label={trans.__('Cluster')}
            value={cluster.id}
            onChange={event => props.onSelect(event.target.value)}
          >
            {clusters.map(item => (
              <option key={item.id} value={item.id}>
                {item.name}
              </option>
            ))}
          </select>
        ) : (
          <b className="jp-ElasticCluster-name" title={cluster.id}>
            {cluster.name}
          </b>
        )}
        <Button
          disabled={cluster.state === 'releasing'}
          title={trans.__('Give back all containers of %1', cluster.name)}
          onClick={() =>
            void commands.execute(CommandIDs.releaseCluster, {
              cluster: cluster.id
            })
          }
        >
          {trans.__('Release')}
        </Button>
        <button
          type="button"
          className="jp-ElasticIconButton"
          aria-haspopup="menu"
          aria-expanded="false"
          aria-label={trans.__('Actions of %1', cluster.name)}
          title={trans.__('Actions of %1', cluster.name)}
          onClick={open}
        >
          ⋯
        </button>
      </div>
      <p className="jp-ElasticCluster-state">
        {cluster.framework_title} ·{' '}
        <span className={`jp-ElasticState jp-mod-${cluster.state}`}>
          {clusterWord(cluster.state, trans)}
        </span>
        {props.showGpus && cluster.gpus_per_container === 0 && (
          <span title={trans.__('It trains on the CPU.')}>
            {' · '}
            {trans.__('no GPU')}
          </span>
        )}
      </p>
      {reason !== null && (
        <p className="jp-ElasticCluster-reason" title={reason.detail}>
          {reason.text}
        </p>
      )}
    </div>
  );
}
