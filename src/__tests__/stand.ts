/** A model and actions that only remember what they were asked for. */
import { Signal } from '@lumino/signaling';
import { waitFor } from '@testing-library/react';
import type { ICluster } from '../api';
import { ElasticApi } from '../api';
import { DEFAULT_APPEARANCE, ElasticModel } from '../model';
import type { IElasticActions } from '../tokens';
import { FakeServer, makeState, setVisibility } from './fixtures';

/** Actions that do nothing and agree. */
export function makeActions(): jest.Mocked<IElasticActions> {
  const agreed = <A extends unknown[]>(): jest.Mock<Promise<boolean>, A> =>
    jest.fn(async (..._: A) => true);
  const done = <A extends unknown[]>(): jest.Mock<Promise<void>, A> =>
    jest.fn(async (..._: A) => undefined);
  return {
    scale: agreed(),
    undo: agreed(),
    release: agreed(),
    releaseAll: agreed(),
    stopRun: agreed(),
    removeContainer: agreed(),
    openLaunchTerminal: done(),
    openRunTerminal: done(),
    copyLaunchCommand: done(),
    copyCode: done(),
    showRunLog: done(),
    showContainerLog: done(),
    preflight: done(),
    showHistory: done(),
    report: jest.fn()
  };
}

/** A model on a fake server half that has answered once. */
export async function makeModel(
  clusters: ICluster[]
): Promise<{ model: ElasticModel; server: FakeServer }> {
  setVisibility('visible');
  const server = new FakeServer();
  server.state = makeState(1, clusters);
  const model = new ElasticModel({
    api: new ElasticApi(server.settings),
    events: new Signal<object, never>({}),
    isConnected: () => true
  });
  model.setAppearance(DEFAULT_APPEARANCE);
  model.start();
  await waitFor(() => expect(model.state).not.toBeNull());
  await waitFor(() => expect(model.options).not.toBeNull());
  return { model, server };
}
