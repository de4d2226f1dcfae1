import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IEngineOptions, IGpuKind } from '../api';
import type { ICreateFieldsProps } from './CreateBasics';
import { FormField } from './FormField';
import { SelectField } from './SelectField';

/** GPUs per container, where there are any; else why there are none. */
export function CreateGpus(
  props: ICreateFieldsProps & { engine: IEngineOptions }
): React.JSX.Element | null {
  const { draft, engine, problems, onChange, trans } = props;
  if (engine.gpu_kinds.length === 0) {
    return engine.gpu_note === '' ? null : (
      <p className="jp-ElasticNote">{engine.gpu_note}</p>
    );
  }
  const kind =
    engine.gpu_kinds.find(item => item.name === draft.gpuKind) ??
    engine.gpu_kinds[0];
  return (
    <>
      <label className="jp-ElasticCheck">
        <input
          type="checkbox"
          checked={draft.useGpu}
          onChange={event =>
            onChange({ ...draft, useGpu: event.target.checked })
          }
        />
        {trans.__('GPUs')}
      </label>
      {draft.useGpu && (
        <>
          <SelectField
            label={trans.__('Kind')}
            value={kind.name}
            problem={problems.gpuKind}
            options={engine.gpu_kinds.map(item => ({
              value: item.name,
              label: item.name
            }))}
            onChange={gpuKind => onChange({ ...draft, gpuKind })}
          />
          <FormField
            label={trans.__('GPUs per container')}
            type="number"
            min={1}
            value={draft.gpus}
            problem={problems.gpus}
            note={Private.freeWords(kind, trans)}
            onChange={gpus => onChange({ ...draft, gpus })}
          />
        </>
      )}
      {engine.gpu_note !== '' && (
        <p className="jp-ElasticNote">{engine.gpu_note}</p>
      )}
    </>
  );
}

namespace Private {
  export function freeWords(kind: IGpuKind, trans: TranslationBundle): string {
    if (kind.free === null && kind.total === 0) {
      return trans.__('free: not known');
    }
    return kind.free === null
      ? trans.__('%1 there, free: not known', kind.total)
      : trans.__('%1 of %2 free', kind.free, kind.total);
  }
}
