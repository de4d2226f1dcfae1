import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IContainer, ISample } from '../api';
import { formatBytes } from '../format';

export interface IUseProps {
  container: IContainer;
  sample: ISample;
  trans: TranslationBundle;
}

/** What one container without a GPU uses now of processor and memory. */
export function Use(props: IUseProps): React.JSX.Element | null {
  const { sample, trans } = props;
  const { cpu_percent: percent, memory_bytes: memory } = sample;
  const cpu = percent === null ? null : Math.round(percent);
  const parts: string[] = [];
  if (!cpu && !memory) {
    // Nothing runs there; where nothing is known nothing is said.
    if (cpu !== null || memory !== null) {
      parts.push(trans.__('idle'));
    }
  } else {
    if (cpu !== null) {
      parts.push(trans.__('CPU %1 %', cpu));
    }
    if (memory !== null) {
      parts.push(formatBytes(memory));
    }
  }
  return Private.line(parts);
}

/** What one container uses now of each of its GPUs; of its processor where that is not known. */
export function GpuUse(props: IUseProps): React.JSX.Element | null {
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
  if (parts.length === 0 && sample.cpu_percent !== null) {
    parts.push(trans.__('CPU %1 %', Math.round(sample.cpu_percent)));
  }
  return Private.line(parts);
}

namespace Private {
  export function line(parts: readonly string[]): React.JSX.Element | null {
    return parts.length === 0 ? null : (
      <span className="jp-ElasticUse">{parts.join(' · ')}</span>
    );
  }
}
