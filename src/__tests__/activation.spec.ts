import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import type { ServiceManager } from '@jupyterlab/services';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import { waitFor } from '@testing-library/react';
import plugins from '..';
import type { ElasticModel } from '../model';
import { launcherPlugin } from '../plugins/launcher';
import { modelPlugin, readAppearance } from '../plugins/model';
import { noticeText } from '../plugins/notice';
import { runningPlugin } from '../plugins/running';
import { statusPlugin } from '../plugins/status';
import { ElasticRunning } from '../running';
import { CommandIDs, PANEL_ID } from '../tokens';
import { FakeServer, makeCluster, makeRun, makeState, trans } from './fixtures';
import { makeActions, makeModel } from './stand';

/** As much of an application as our plugins touch. */
function makeApp(server: FakeServer): {
  app: JupyterFrontEnd;
  added: { widget: Widget; area: string | undefined }[];
} {
  const added: { widget: Widget; area: string | undefined }[] = [];
  const app = {
    commands: new CommandRegistry(),
    restored: Promise.resolve(),
    serviceManager: {
      serverSettings: server.settings,
      events: { stream: new Signal<object, never>({}) },
      terminals: {}
    } as unknown as ServiceManager,
    shell: {
      add: (widget: Widget, area?: string) => added.push({ widget, area }),
      activateById: () => undefined
    }
  };
  return { app: app as unknown as JupyterFrontEnd, added };
}

/** Activate all plugins where every optional service is missing. */
function activateAll(app: JupyterFrontEnd): Map<unknown, unknown> {
  const services = new Map<unknown, unknown>();
  for (const plugin of plugins as JupyterFrontEndPlugin<unknown>[]) {
    const needed = (plugin.requires ?? []).map(token => services.get(token));
    const missing = (plugin.optional ?? []).map(() => null);
    const service = plugin.activate(app, ...needed, ...missing);
    if (plugin.provides) {
      services.set(plugin.provides, service);
    }
  }
  return services;
}

describe('the plugins', () => {
  it('need nothing but the application', async () => {
    const server = new FakeServer();
    const { app, added } = makeApp(server);
    const services = activateAll(app);
    expect(added.map(({ widget, area }) => [widget.id, area])).toEqual([
      [PANEL_ID, 'left']
    ]);
    const panel = added[0].widget;
    expect(panel.node.getAttribute('role')).toBe('region');
    expect(panel.node.getAttribute('aria-label')).toBe('Elastic');
    for (const id of Object.values(CommandIDs)) {
      expect(app.commands.hasCommand(id)).toBe(true);
    }
    const model = services.get(modelPlugin.provides) as ElasticModel;
    await waitFor(() => expect(model.state).not.toBeNull());
    panel.dispose();
    model.dispose();
  });

  it('stay quiet where the server half is missing', async () => {
    const server = new FakeServer();
    server.answer('GET clusters', 'not found', 404);
    server.answer('GET options', 'not found', 404);
    const { app, added } = makeApp(server);
    const services = activateAll(app);
    const model = services.get(modelPlugin.provides) as ElasticModel;
    await waitFor(() => expect(model.problem?.serverHalfMissing).toBe(true));
    expect(document.querySelector('.jp-Dialog')).toBeNull();
    added[0].widget.dispose();
    model.dispose();
  });

  it('are described and named after the package', () => {
    for (const plugin of plugins) {
      expect(plugin.id).toMatch(/^jupyter-elastic:/);
      expect(plugin.description).toBeTruthy();
    }
  });

  it('never need the lab shell', () => {
    const needed = plugins.flatMap(plugin => plugin.requires ?? []);
    expect(needed.map(token => token.name)).toEqual(
      expect.not.arrayContaining([expect.stringContaining('ILabShell')])
    );
  });

  it('add the launcher card once the server half answers', async () => {
    const { model } = await makeModel([]);
    const cards: unknown[] = [];
    const app = makeApp(new FakeServer()).app;
    const launcher = { add: (card: unknown) => cards.push(card) };
    await launcherPlugin.activate(app, model, launcher, null);
    model.select('x');
    expect(cards).toHaveLength(1);
    model.dispose();
  });

  it('add the status item, active while there is a cluster', async () => {
    const { model, server } = await makeModel([makeCluster()]);
    const items: { isActive: () => boolean }[] = [];
    const statusBar = {
      registerStatusItem: (_: string, item: { isActive: () => boolean }) =>
        items.push(item)
    };
    await statusPlugin.activate(makeApp(server).app, model, statusBar, null);
    expect(items[0].isActive()).toBe(true);
    server.state = makeState(2, []);
    await model.refresh();
    expect(items[0].isActive()).toBe(false);
    model.dispose();
  });

  it('add a section to the Running panel', async () => {
    const { model, server } = await makeModel([makeCluster()]);
    const managers = { add: jest.fn() };
    await runningPlugin.activate(
      makeApp(server).app,
      model,
      makeActions(),
      managers,
      null
    );
    expect(managers.add).toHaveBeenCalledTimes(1);
    model.dispose();
  });
});

describe('the Running panel section', () => {
  it('lists clusters with their live runs and stops them by command', async () => {
    const run = makeRun();
    const ended = makeRun({ id: 'run0', state: 'ended' });
    const { model } = await makeModel([makeCluster({ runs: [run, ended] })]);
    const commands = new CommandRegistry();
    const seen: unknown[] = [];
    for (const id of [CommandIDs.releaseCluster, CommandIDs.stopRun]) {
      commands.addCommand(id, {
        execute: args => {
          seen.push([id, args]);
        }
      });
    }
    const releaseAll = jest.fn();
    const running = new ElasticRunning({ model, commands, releaseAll, trans });
    const [item] = running.running({ mode: 'tree' });
    expect(item.label()).toBe('tthvd');
    expect(item.detail?.()).toBe('2/2');
    const [child] = item.children ?? [];
    expect(child.label()).toBe('train.py');
    expect(child.labelTitle?.()).toBe(run.text);
    expect(running.running({ mode: 'list' })).toHaveLength(2);
    item.shutdown?.();
    item.children?.[0].shutdown?.();
    expect(seen).toEqual([
      [CommandIDs.releaseCluster, { cluster: 'tthvd-abc234' }],
      [CommandIDs.stopRun, { cluster: 'tthvd-abc234', run: 'run1' }]
    ]);
    expect(running.shutdownAllConfirmationText()).toContain('tthvd');
    running.shutdownAll();
    expect(releaseAll).toHaveBeenCalledTimes(1);
    model.dispose();
  });
});

describe('the shutdown notice', () => {
  it('names clusters and runs that live on', async () => {
    const { model } = await makeModel([makeCluster({ runs: [makeRun()] })]);
    const text = noticeText(model, trans);
    expect(text).toContain('tthvd');
    expect(text).toContain('1 run goes on');
    model.dispose();
  });
});

describe('the settings', () => {
  it('are checked one by one', () => {
    const composite = {
      refreshSeconds: 60,
      confirmShrink: 'x',
      showGpus: false
    };
    expect(readAppearance({ composite })).toEqual({
      refreshSeconds: 60,
      confirmShrink: false,
      showGpus: false
    });
  });
});
