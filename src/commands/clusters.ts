/** Commands that make clusters and give them back. */
import { refreshIcon } from '@jupyterlab/ui-components';
import { exampleDraft } from '../createdraft';
import { argumentSchema } from '../guards';
import { clusterIcon } from '../icons';
import { CommandIDs, PANEL_ID } from '../tokens';
import type { ICommandContext } from './context';
import { chosenCluster, onCluster } from './context';

export function addClusterCommands(context: ICommandContext): void {
  const { app, model, actions, trans } = context;
  const { commands } = app;
  const openForm = (): void => {
    app.shell.activateById(PANEL_ID);
    model.setCreating(true);
  };

  commands.addCommand(CommandIDs.openPanel, {
    label: trans.__('Show Elastic'),
    caption: trans.__('Show the training clusters'),
    icon: clusterIcon,
    describedBy: { args: argumentSchema([]) },
    execute: () => app.shell.activateById(PANEL_ID)
  });

  commands.addCommand(CommandIDs.createCluster, {
    label: args =>
      args['isLauncher']
        ? trans.__('Training Cluster')
        : trans.__('New Cluster…'),
    caption: trans.__('Fill in the form of a new training cluster'),
    icon: clusterIcon,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          isLauncher: {
            type: 'boolean',
            description: 'Whether the launcher shows it'
          }
        }
      }
    },
    execute: openForm
  });

  commands.addCommand(CommandIDs.tryExample, {
    label: trans.__('Try the Example…'),
    caption: trans.__('Fill in the form with the example; nothing is made yet'),
    icon: clusterIcon,
    describedBy: { args: argumentSchema([]) },
    isEnabled: () => Boolean(model.options?.example),
    execute: () => {
      if (model.options) {
        const names = model.clusters.map(cluster => cluster.name);
        model.setCreateDraft(exampleDraft(model.options, names));
        openForm();
      }
    }
  });

  commands.addCommand(CommandIDs.refresh, {
    label: trans.__('Read Clusters Again'),
    caption: trans.__('Ask the engines what there is now'),
    icon: refreshIcon,
    describedBy: { args: argumentSchema([]) },
    execute: async () => {
      try {
        await model.api.refresh();
      } catch {
        // The next read shows the cause in the panel.
      }
      await Promise.all([model.refresh(), model.refreshOptions()]);
    }
  });

  commands.addCommand(CommandIDs.copyCode, {
    label: trans.__('Copy as Code'),
    caption: trans.__('Copy the notebook lines that make this cluster'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, cluster => actions.copyCode(cluster.id))
  });

  commands.addCommand(CommandIDs.releaseCluster, {
    label: trans.__('Release Cluster…'),
    caption: trans.__('Give back all containers of the cluster; asks first'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, cluster => actions.release(cluster.id))
  });

  commands.addCommand(CommandIDs.releaseAll, {
    label: trans.__('Release All Clusters…'),
    caption: trans.__('Give back all containers of all clusters; asks first'),
    describedBy: { args: argumentSchema([]) },
    isEnabled: () => model.clusters.length > 0,
    execute: () =>
      onCluster(context, {}, () => actions.releaseAll({ ask: true }))
  });
}
