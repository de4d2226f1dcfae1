import * as React from 'react';
import type { ICluster } from '../api';
import { ClusterHeader } from './ClusterHeader';
import { ContainersTable } from './ContainersTable';
import type { IElasticViewProps } from './ElasticView';
import { GpuSummary } from './GpuSummary';
import { HostFileLine } from './HostFileLine';
import { LaunchBox } from './LaunchBox';
import { Offers } from './Offers';
import { RunView } from './RunView';
import { ScaleControl } from './ScaleControl';
import { Section } from './Section';

export interface IClusterViewProps extends IElasticViewProps {
  cluster: ICluster;
  details: string;
}

/** One cluster: what it waits for, its containers and size, its runs, its launch. */
export function ClusterView(props: IClusterViewProps): React.JSX.Element {
  const { model, actions, commands, cluster, details, trans } = props;
  return (
    <>
      <ClusterHeader
        cluster={cluster}
        clusters={model.clusters}
        onSelect={id => model.select(id)}
        showGpus={model.appearance.showGpus}
        commands={commands}
        trans={trans}
      />
      <Offers model={model} actions={actions} cluster={cluster} trans={trans} />
      <Section title={trans.__('Containers')} details={details} trans={trans}>
        <ScaleControl
          key={cluster.id}
          model={model}
          actions={actions}
          cluster={cluster}
          trans={trans}
        />
        <ContainersTable
          cluster={cluster}
          samples={model.samples}
          showGpus={model.appearance.showGpus}
          commands={commands}
          trans={trans}
        />
        {model.appearance.showGpus && (
          <GpuSummary cluster={cluster} samples={model.samples} trans={trans} />
        )}
        <HostFileLine
          cluster={cluster}
          clusters={model.clusters}
          trans={trans}
        />
      </Section>
      <Section title={trans.__('Run')} details={details} trans={trans}>
        <RunView
          key={cluster.id}
          cluster={cluster}
          actions={actions}
          trans={trans}
        />
      </Section>
      <Section title={trans.__('Launch')} details={details} trans={trans}>
        <LaunchBox
          key={cluster.id}
          model={model}
          actions={actions}
          cluster={cluster}
          scripts={props.scripts}
          trans={trans}
        />
      </Section>
    </>
  );
}
