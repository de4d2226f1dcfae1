import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import type { ICluster, IContainer, ISample } from '../api';
import { openMenu } from '../menus';
import { CommandIDs } from '../tokens';
import { containerSign, containerWord, roleWord } from '../wording';
import { Age } from './Age';
import { Countdown } from './Countdown';
import { Use } from './Use';

export interface IContainerRowProps {
  cluster: ICluster;
  container: IContainer;
  sample: ISample | null;
  showGpus: boolean;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

/** One container: who, in which state since when, where, with which GPUs; below it why it is not ready. */
export function ContainerRow(props: IContainerRowProps): React.JSX.Element {
  const { cluster, container, trans } = props;
  const settled = container.state === 'ready';
  const works = settled || container.state === 'draining';
  const sample = works ? props.sample : null;
  const columns = props.showGpus ? 5 : 4;
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
          <span className="jp-ElasticContainer-name" title={container.name}>
            {container.name}
          </span>
          <span className="jp-ElasticContainer-role">
            {roleWord(container.role, trans)}
          </span>
        </th>
        <td>
          <span className={`jp-ElasticState jp-mod-${Private.mod(container)}`}>
            <span aria-hidden="true">{containerSign(container.state)} </span>
            {containerWord(container.state, trans)}
          </span>
          {container.state === 'draining' && container.drain_until !== null ? (
            <Countdown due={container.drain_until} />
          ) : (
            !settled && <Age since={container.since} trans={trans} />
          )}
          {settled && container.busy && (
            <span className="jp-ElasticContainer-role">{trans.__('busy')}</span>
          )}
        </td>
        <td className="jp-ElasticContainer-host">{container.host ?? '–'}</td>
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
      {(container.reason !== null || sample !== null) && (
        <tr className="jp-ElasticContainer-more">
          <td colSpan={columns}>
            {container.reason !== null && (
              <span title={container.reason.detail}>
                {container.reason.text}
              </span>
            )}
            {sample !== null && (
              <Use container={container} sample={sample} trans={trans} />
            )}
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
