import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster, ISample } from '../api';
import { formatBytes } from '../format';
import { gpuCount } from '../state';
import { gpuWords } from '../wording';

/** The GPUs of a cluster in one line: how many, which, how busy. Nothing where there are none. */
export function GpuSummary(props: {
  cluster: ICluster;
  samples: readonly ISample[];
  trans: TranslationBundle;
}): React.JSX.Element | null {
  const { cluster, samples, trans } = props;
  const count = gpuCount(cluster);
  if (count === 0) {
    return null;
  }
  const gpus = cluster.containers.flatMap(container => container.gpus);
  const names = [...new Set(gpus.map(gpu => gpu.name))].join(', ');
  const memory = gpus.reduce((sum, gpu) => sum + (gpu.memory_bytes ?? 0), 0);
  const busy = samples
    .flatMap(sample => sample.gpu_percent)
    .filter(percent => percent !== null);
  const average = busy.reduce((sum, percent) => sum + percent, 0) / busy.length;
  return (
    <p className="jp-ElasticNote jp-ElasticGpus">
      {gpuWords(count, trans)}: {names}
      {memory > 0 && <>, {formatBytes(memory)}</>}
      {busy.length > 0 && <>, {trans.__('%1 % busy', Math.round(average))}</>}
    </p>
  );
}
