/** Commands about one container, one run or one launch. */
import { copyIcon, terminalIcon } from '@jupyterlab/ui-components';
import { argumentSchema } from '../guards';
import { CommandIDs } from '../tokens';
import type { ICommandContext } from './context';
import { chosenCluster, needed, onCluster } from './context';

export function addDetailCommands(context: ICommandContext): void {
  addLaunchCommands(context);
  addRunCommands(context);
  addContainerCommands(context);
}

function addLaunchCommands(context: ICommandContext): void {
  const { app, model, actions, scripts, trans } = context;
  const { commands } = app;

  commands.addCommand(CommandIDs.openLaunchTerminal, {
    label: trans.__('Launch in a Terminal'),
    caption: trans.__('Open a terminal with the command typed, not run'),
    icon: terminalIcon,
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, cluster =>
        actions.openLaunchTerminal(cluster.id)
      )
  });

  commands.addCommand(CommandIDs.copyLaunchCommand, {
    label: trans.__('Copy the Launch Command'),
    caption: trans.__('Copy the command of the cluster as it is now'),
    icon: copyIcon,
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, cluster => actions.copyLaunchCommand(cluster.id))
  });

  commands.addCommand(CommandIDs.useSelectedScript, {
    label: trans.__('Train with the Selected Script'),
    caption: trans.__('Take the Python file that is selected or open in front'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args =>
      chosenCluster(model, args) !== null && scripts().length > 0,
    execute: args =>
      onCluster(context, args, async cluster => {
        const [script] = scripts();
        await model.api.change(cluster.id, {
          script: needed('script', script)
        });
        await model.refresh();
      })
  });

  commands.addCommand(CommandIDs.preflight, {
    label: trans.__('Check before a Launch'),
    caption: trans.__('Check everything that a launch needs'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, cluster => actions.preflight(cluster.id))
  });

  commands.addCommand(CommandIDs.showHistory, {
    label: trans.__('Show the History'),
    caption: trans.__('Show what changed, the newest first'),
    describedBy: { args: argumentSchema(['cluster']) },
    isEnabled: args => chosenCluster(model, args) !== null,
    execute: args =>
      onCluster(context, args, cluster => actions.showHistory(cluster.id))
  });
}

function addRunCommands(context: ICommandContext): void {
  const { app, actions, trans } = context;
  const { commands } = app;

  commands.addCommand(CommandIDs.openRunTerminal, {
    label: trans.__('Show the Terminal of the Run'),
    caption: trans.__('Show the terminal in which the run lives'),
    icon: terminalIcon,
    describedBy: { args: argumentSchema(['cluster', 'run'], ['run']) },
    execute: args =>
      onCluster(context, args, (cluster, { run }) =>
        actions.openRunTerminal(cluster.id, needed('run', run))
      )
  });

  commands.addCommand(CommandIDs.showRunLog, {
    label: trans.__('Show the Output of the Run'),
    caption: trans.__('Show what the run has written'),
    describedBy: { args: argumentSchema(['cluster', 'run'], ['run']) },
    execute: args =>
      onCluster(context, args, (cluster, { run }) =>
        actions.showRunLog(cluster.id, needed('run', run))
      )
  });

  commands.addCommand(CommandIDs.stopRun, {
    label: trans.__('Stop the Run…'),
    caption: trans.__('End the run; asks first'),
    describedBy: { args: argumentSchema(['cluster', 'run'], ['run']) },
    execute: args =>
      onCluster(context, args, (cluster, { run }) =>
        actions.stopRun(cluster.id, needed('run', run))
      )
  });
}

function addContainerCommands(context: ICommandContext): void {
  const { app, actions, trans } = context;
  const { commands } = app;
  const args = argumentSchema(['cluster', 'container'], ['container']);

  commands.addCommand(CommandIDs.showContainerLog, {
    label: trans.__('Show the Output of the Container'),
    caption: trans.__('Show what the container has written'),
    describedBy: { args },
    execute: args =>
      onCluster(context, args, (cluster, { container }) =>
        actions.showContainerLog(cluster.id, needed('container', container))
      )
  });

  commands.addCommand(CommandIDs.replaceContainer, {
    label: trans.__('Replace the Container…'),
    caption: trans.__('Remove it and start another in its place; asks first'),
    describedBy: { args },
    execute: args =>
      onCluster(context, args, (cluster, { container }) =>
        actions.removeContainer(
          cluster.id,
          needed('container', container),
          true
        )
      )
  });

  commands.addCommand(CommandIDs.removeContainer, {
    label: trans.__('Remove the Container…'),
    caption: trans.__('Remove it; the cluster gets one smaller; asks first'),
    describedBy: { args },
    execute: args =>
      onCluster(context, args, (cluster, { container }) =>
        actions.removeContainer(
          cluster.id,
          needed('container', container),
          false
        )
      )
  });
}
