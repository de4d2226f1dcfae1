import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import type { ICluster, IContainer, ISample } from '../api';
import { openMenu } from '../menus';
import { CommandIDs } from '../tokens';
import { containerSign, containerWord, roleWord } from '../wording';
import { Age } from './Age';
import { Countdown } from './Countdown';
import { MiddleCut } from './MiddleCut';
import { GpuUse, Use } from './Use';

export interface IContainerRowProps {
  cluster: ICluster;
  container: IContainer;
  sample: ISample | null;
  showGpus: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** One container: who and where, in which state since when, how busy; below it why it is not ready. */
export function ContainerRow(props: IContainerRowProps): React.JSX.Element {
  const { cluster, container, trans } = props;
  const settled = container.state === 'ready';
  const works = settled || container.state === 'draining';
  const sample = works ? props.sample : null;
  const gpuSample = container.gpus.length > 0 ? sample : null;
  const columns = props.showGpus ? 4 : 3;
  const use = { container, trans };
  const open = (event: React.MouseEvent<HTMLButtonElement>): void => {
    const args = { cluster: cluster.id, container: container.name };
    openMenu(props.commands, event.currentTarget, [
      { command: CommandIDs.showContainerLog, args },
      ...(container.role === 'worker'
        ? [
            { command: CommandIDs.replaceContainer, args },
            { command: CommandIDs.removeContainer, args }
          ]
        : [])
    ]);
  };
  return (
    <>
      <tr className={`jp-ElasticContainer jp-mod-${container.role}`}>
        <th scope="row">
          <MiddleCut text={container.name} />
          <span className="jp-ElasticContainer-small">
            {roleWord(container.role, trans)}
            {container.host !== null && <> · {container.host}</>}
          </span>
        </th>
        <td>
          <span className={`jp-ElasticState jp-mod-${Private.mod(container)}`}>
            <span aria-hidden="true">{containerSign(container.state)} </span>
            {containerWord(container.state, trans)}
          </span>
          <span className="jp-ElasticContainer-small">
            {container.state === 'draining' &&
            container.drain_until !== null ? (
              <Countdown due={container.drain_until} />
            ) : !settled ? (
              <Age since={container.since} trans={trans} />
            ) : sample !== null && container.gpus.length === 0 ? (
              <Use {...use} sample={sample} />
            ) : (
              container.busy && trans.__('busy')
            )}
          </span>
        </td>
        {props.showGpus && <td>{Private.gpus(container)}</td>}
        <td className="jp-ElasticContainer-menu">
          <button
            type="button"
            className="jp-ElasticIconButton"
            aria-haspopup="menu"
            aria-expanded="false"
            aria-label={trans.__('Actions of %1', container.name)}
            title={trans.__('Actions of %1', container.name)}
            onClick={open}
          >
            ⋯
          </button>
        </td>
      </tr>
      {(container.reason !== null || gpuSample !== null) && (
        <tr className="jp-ElasticContainer-more">
          <td colSpan={columns}>
            {container.reason !== null && (
              <span title={container.reason.detail}>
                {container.reason.text}
              </span>
            )}
            {gpuSample !== null && <GpuUse {...use} sample={gpuSample} />}
          </td>
        </tr>
      )}
    </>
  );
}

namespace Private {
  /** The state as part of a class name. */
  export function mod(container: IContainer): string {
    return container.state.replace(' ', '-');
  }

  /** "2 × P4". */
  export function gpus(container: IContainer): string {
    const names = [...new Set(container.gpus.map(gpu => gpu.name))];
    const count = container.gpus.length;
    if (count === 0) {
      return '–';
    }
    const short = names.map(name => name.replace(/^(NVIDIA|Tesla)\s+/, ''));
    return count === 1 ? short[0] : `${count} × ${short.join(', ')}`;
  }
}
