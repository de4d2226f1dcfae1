/** Questions before something is spent or destroyed, and texts that are too long for the panel. */
import { Clipboard, Dialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICheck, ICluster, IPlan } from './api';
import { CheckList } from './components/CheckList';
import { LogText } from './components/LogText';
import { NamedList } from './components/NamedList';
import { gpuCount, isLive } from './state';

/** Ask before a plan is carried out. */
export async function confirmPlan(
  cluster: ICluster,
  plan: IPlan,
  trans: TranslationBundle
): Promise<boolean> {
  const removed = plan.remove.length;
  const label =
    removed > 0
      ? trans._n('Remove %1 worker', 'Remove %1 workers', removed)
      : plan.add > 0
        ? trans._n('Add %1 container', 'Add %1 containers', plan.add)
        : trans.__('Set the size');
  return Private.ask({
    title: trans._n(
      'Scale %2 to %1 container?',
      'Scale %2 to %1 containers?',
      plan.target,
      cluster.name
    ),
    body: (
      <div className="jp-ElasticDialog">
        <p>{plan.text}</p>
        {plan.gpus !== 0 && <p>{Private.gpuChange(plan.gpus, trans)}</p>}
        <NamedList title={trans.__('Removed:')} items={plan.remove} />
        <NamedList title={trans.__('Note:')} items={plan.warnings} />
      </div>
    ),
    button:
      removed > 0 ? Dialog.warnButton({ label }) : Dialog.okButton({ label }),
    trans
  });
}

/** Ask before a cluster is given back. Lists all that goes. */
export async function confirmRelease(
  clusters: readonly ICluster[],
  trans: TranslationBundle
): Promise<boolean> {
  const runs = clusters.flatMap(cluster => cluster.runs.filter(isLive));
  const gpus = clusters.reduce((sum, cluster) => sum + gpuCount(cluster), 0);
  const label =
    runs.length > 0
      ? trans._n(
          'Stop %1 run and release',
          'Stop %1 runs and release',
          runs.length
        )
      : trans.__('Release');
  return Private.ask({
    title:
      clusters.length === 1
        ? trans.__('Release %1?', clusters[0].name)
        : trans._n(
            'Release %1 cluster?',
            'Release %1 clusters?',
            clusters.length
          ),
    body: (
      <div className="jp-ElasticDialog">
        {clusters.map(cluster => (
          <NamedList
            key={cluster.id}
            title={trans._n(
              '%1 container of %2 goes:',
              '%1 containers of %2 go:',
              cluster.containers.length,
              cluster.name
            )}
            items={cluster.containers.map(container => container.name)}
          />
        ))}
        {gpus > 0 && (
          <p>
            {trans._n('%1 GPU is given back.', '%1 GPUs are given back.', gpus)}
          </p>
        )}
        <NamedList
          title={trans._n(
            '%1 live run is stopped first:',
            '%1 live runs are stopped first:',
            runs.length
          )}
          items={runs.map(run => run.text)}
        />
      </div>
    ),
    button: Dialog.warnButton({ label }),
    trans
  });
}

/** Ask before one container goes. */
export async function confirmRemoval(
  container: string,
  text: string,
  replace: boolean,
  trans: TranslationBundle
): Promise<boolean> {
  return Private.ask({
    title: replace
      ? trans.__('Replace %1?', container)
      : trans.__('Remove %1?', container),
    body: text,
    button: Dialog.warnButton({
      label: replace ? trans.__('Replace') : trans.__('Remove')
    }),
    trans
  });
}

/** Ask before a run is stopped. */
export async function confirmStop(
  text: string,
  trans: TranslationBundle
): Promise<boolean> {
  return Private.ask({
    title: trans.__('Stop this run?'),
    body: text,
    button: Dialog.warnButton({ label: trans.__('Stop') }),
    trans
  });
}

/** Show an output, its end first; while it grows it is followed. */
export async function showLog(
  title: string,
  read: () => Promise<string>,
  grows: () => boolean,
  trans: TranslationBundle
): Promise<void> {
  let shown = await read();
  const onRead = (text: string): void => {
    shown = text;
  };
  const { button } = await showDialog({
    title,
    body: (
      <LogText
        first={shown}
        read={read}
        grows={grows}
        onRead={onRead}
        trans={trans}
      />
    ),
    buttons: [
      Dialog.createButton({ label: trans.__('Copy') }),
      Dialog.okButton({ label: trans.__('Close') })
    ],
    defaultButton: 1
  });
  if (button.label === trans.__('Copy')) {
    Clipboard.copyToSystem(shown);
  }
}

/** Show what was checked. */
export async function showChecks(
  title: string,
  checks: readonly ICheck[],
  trans: TranslationBundle
): Promise<void> {
  await showDialog({
    title,
    body: <CheckList checks={checks} trans={trans} />,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Show the changes of a cluster, newest first. */
export async function showLines(
  title: string,
  lines: readonly string[],
  trans: TranslationBundle
): Promise<void> {
  await showDialog({
    title,
    body: (
      <div className="jp-ElasticDialog">
        {lines.length === 0 ? (
          <p>{trans.__('Nothing happened yet.')}</p>
        ) : (
          <NamedList title="" items={lines} />
        )}
      </div>
    ),
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

namespace Private {
  export interface IQuestion {
    title: string;
    body: Dialog.Body<unknown>;
    button: Dialog.IButton;
    trans: TranslationBundle;
  }

  /** The focus starts at Cancel, so a stray Enter does nothing. */
  export async function ask({
    title,
    body,
    button,
    trans
  }: IQuestion): Promise<boolean> {
    const result = await showDialog({
      title,
      body,
      buttons: [Dialog.cancelButton({ label: trans.__('Cancel') }), button],
      defaultButton: 0
    });
    return result.button.accept;
  }

  export function gpuChange(gpus: number, trans: TranslationBundle): string {
    return gpus > 0
      ? trans._n('%1 GPU more.', '%1 GPUs more.', gpus)
      : trans._n('%1 GPU is given back.', '%1 GPUs are given back.', -gpus);
  }
}
