/** Commands that change the size. They come from anywhere, a notebook's output included: they always ask. */
import { InputDialog } from '@jupyterlab/apputils';
import type { ICluster } from '../api';
import { argumentSchema } from '../guards';
import { largestSize } from '../state';
import { CommandIDs } from '../tokens';
import type { ICommandContext } from './context';
import { chosenCluster, onCluster } from './context';

export function addScaleCommands(context: ICommandContext): void {
  const { app, model, actions, trans } = context;
  const { commands } = app;
  const scale = (cluster: ICluster, size: number): Promise<boolean> =>
    actions.scale(cluster.id, size, { ask: true });

  commands.addCommand(CommandIDs.scale, {
    label: trans.__('Scale Cluster…'),
    caption: trans.__('Set the number of containers; asks first'),
    describedBy: { args: argumentSchema(['cluster', 'size']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, async (cluster, { size }) => {
        const chosen = size ?? (await askSize(context, cluster));
        return chosen === null ? false : scale(cluster, chosen);
      })
  });

  commands.addCommand(CommandIDs.scaleUp, {
    label: trans.__('Add a Container…'),
    caption: trans.__('Grow the cluster to its next size; asks first'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => {
      const cluster = chosenCluster(model, args);
      return cluster !== null && nextSize(cluster, 1) !== null;
    },
    execute: args =>
      onCluster(context, args, async cluster => {
        const size = nextSize(cluster, 1);
        return size !== null && scale(cluster, size);
      })
  });

  commands.addCommand(CommandIDs.scaleDown, {
    label: trans.__('Remove a Container…'),
    caption: trans.__('Shrink the cluster to its next size; asks first'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => {
      const cluster = chosenCluster(model, args);
      return cluster !== null && nextSize(cluster, -1) !== null;
    },
    execute: args =>
      onCluster(context, args, async cluster => {
        const size = nextSize(cluster, -1);
        return size !== null && scale(cluster, size);
      })
  });

  commands.addCommand(CommandIDs.undoScale, {
    label: trans.__('Undo the Last Change of Size…'),
    caption: trans.__('Set the size from before; asks first'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args)?.last_change?.undo === true,
    execute: args =>
      onCluster(context, args, cluster =>
        actions.undo(cluster.id, { ask: true })
      )
  });
}

/** The next size in a direction that the framework can train with, within the limit. */
export function nextSize(cluster: ICluster, step: 1 | -1): number | null {
  const { target, valid_sizes: valid } = cluster;
  const largest = largestSize(cluster);
  for (let size = target + step; size >= 1 && size <= largest; size += step) {
    if (valid === null || valid.includes(size)) {
      return size;
    }
  }
  return null;
}

async function askSize(
  { trans }: ICommandContext,
  cluster: ICluster
): Promise<number | null> {
  const { value, button } = await InputDialog.getNumber({
    title: trans.__('Size of %1', cluster.name),
    label: trans.__('Number of containers, from 1 to %1', largestSize(cluster)),
    value: cluster.target
  });
  return button.accept && value !== null ? Math.trunc(value) : null;
}
