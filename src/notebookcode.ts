/** A cluster as the magics that make it again. */
import type { ICluster } from './api';
import { joinWords } from './words';

/** Two lines for a notebook cell. */
export function notebookCode(cluster: ICluster): string {
  const { settings } = cluster;
  const words = [
    cluster.name,
    '--size',
    String(cluster.target),
    '--framework',
    cluster.framework,
    '--engine',
    cluster.engine
  ];
  if (cluster.gpus_per_container > 0) {
    words.push('--gpus', String(cluster.gpus_per_container));
  }
  if (cluster.gpu_kind !== null) {
    words.push('--gpu-kind', cluster.gpu_kind);
  }
  if (settings.script !== null) {
    words.push('--script', settings.script);
  }
  if (settings.kernelspec !== null) {
    words.push('--kernelspec', settings.kernelspec);
  }
  return `%load_ext jupyter_elastic\n%elastic_create ${joinWords(words)}\n`;
}
