import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import type { ICluster, ISample } from '../api';
import { gpuCount } from '../state';
import { ContainerRow } from './ContainerRow';

export interface IContainersTableProps {
  cluster: ICluster;
  samples: readonly ISample[];
  showGpus: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** All containers of a cluster, the launcher first. */
export function ContainersTable(
  props: IContainersTableProps
): React.JSX.Element {
  const { cluster, samples, trans } = props;
  const showGpus = props.showGpus && gpuCount(cluster) > 0;
  return (
    <table className="jp-ElasticTable">
      <caption className="jp-sr-only">
        {trans.__('Containers of %1', cluster.name)}
      </caption>
      <thead className="jp-sr-only">
        <tr>
          <th scope="col">{trans.__('Container')}</th>
          <th scope="col">{trans.__('State')}</th>
          {showGpus && <th scope="col">{trans.__('GPU')}</th>}
          <th scope="col">{trans.__('Actions')}</th>
        </tr>
      </thead>
      <tbody>
        {cluster.containers.map(container => (
          <ContainerRow
            key={container.uid || container.name}
            cluster={cluster}
            container={container}
            sample={
              samples.find(sample => sample.container === container.name) ??
              null
            }
            showGpus={showGpus}
            commands={props.commands}
            trans={trans}
          />
        ))}
      </tbody>
    </table>
  );
}
