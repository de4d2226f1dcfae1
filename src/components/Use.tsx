import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IContainer, ISample } from '../api';
import { formatBytes } from '../format';

/** What one container uses now: each GPU, or processor and memory where there is none. */
export function Use(props: {
  container: IContainer;
  sample: ISample;
  trans: TranslationBundle;
}): React.JSX.Element | null {
  const { container, sample, trans } = props;
  const parts: string[] = [];
  container.gpus.forEach((gpu, place) => {
    const percent = sample.gpu_percent[place] ?? null;
    const used = sample.gpu_memory_bytes[place] ?? null;
    if (percent !== null) {
      parts.push(trans.__('GPU %1: %2 %', gpu.index, Math.round(percent)));
    }
    if (used !== null) {
      const whole = gpu.memory_bytes;
      parts.push(
        whole === null
          ? formatBytes(used)
          : trans.__('%1 of %2', formatBytes(used), formatBytes(whole))
      );
    }
  });
  // Where there are GPUs their use is what matters, and there is little room.
  if (parts.length === 0 && sample.cpu_percent !== null) {
    parts.push(trans.__('CPU %1 %', Math.round(sample.cpu_percent)));
  }
  if (container.gpus.length === 0 && sample.memory_bytes !== null) {
    parts.push(formatBytes(sample.memory_bytes));
  }
  return parts.length === 0 ? null : (
    <span className="jp-ElasticUse">{parts.join(' · ')}</span>
  );
}
