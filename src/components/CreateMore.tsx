import * as React from 'react';
import type { IEngineOptions } from '../api';
import type { ICreateFieldsProps } from './CreateBasics';
import { CreateMount } from './CreateMount';
import { CreatePods } from './CreatePods';
import { FormField } from './FormField';
import { SelectField } from './SelectField';

/** Image, launcher, shared memory, storage: each only where the engine has it. */
export function CreateMore(
  props: ICreateFieldsProps & { engine: IEngineOptions }
): React.JSX.Element | null {
  const { draft, engine, problems, onChange, trans } = props;
  const { images, storage, launcher_modes: modes } = engine;
  const launcherNote = engine.launcher_note ?? '';
  if (
    images === null &&
    storage === null &&
    modes.length < 2 &&
    launcherNote === '' &&
    !engine.shared_memory &&
    !engine.pod_fields
  ) {
    return null;
  }
  const toggle = (name: string): void =>
    onChange({
      ...draft,
      storage: draft.storage.includes(name)
        ? draft.storage.filter(item => item !== name)
        : [...draft.storage, name]
    });
  return (
    <>
      {images !== null && (
        <FormField
          label={trans.__('Image')}
          value={draft.image}
          problem={problems.image}
          suggestions={images}
          onChange={image => onChange({ ...draft, image })}
        />
      )}
      <details className="jp-ElasticDetails">
        <summary>{trans.__('More')}</summary>
        {modes.length > 1 && (
          <SelectField
            label={trans.__('Launcher')}
            value={draft.launcherMode}
            problem={problems.launcherMode}
            options={[
              { value: '', label: trans.__('what fits') },
              ...modes.map(mode => ({
                value: mode,
                label:
                  mode === 'here'
                    ? trans.__('where this notebook runs')
                    : trans.__('its own container')
              }))
            ]}
            onChange={launcherMode => onChange({ ...draft, launcherMode })}
          />
        )}
        {launcherNote !== '' && (
          <p className="jp-ElasticNote">{launcherNote}</p>
        )}
        {engine.shared_memory && (
          <FormField
            label={trans.__('Shared memory per container, GiB')}
            value={draft.sharedMemory}
            problem={problems.sharedMemory}
            onChange={sharedMemory => onChange({ ...draft, sharedMemory })}
          />
        )}
        {storage !== null && storage.length > 0 && (
          <fieldset className="jp-ElasticFieldset">
            <legend>{trans.__('Storage')}</legend>
            {storage.map(name => (
              <React.Fragment key={name}>
                <label className="jp-ElasticCheck">
                  <input
                    type="checkbox"
                    checked={draft.storage.includes(name)}
                    onChange={() => toggle(name)}
                  />
                  {name}
                </label>
                {engine.pod_fields && draft.storage.includes(name) && (
                  <CreateMount {...props} claim={name} />
                )}
              </React.Fragment>
            ))}
            {problems.storage !== undefined && (
              <p className="jp-ElasticProblem" role="alert">
                {problems.storage}
              </p>
            )}
          </fieldset>
        )}
        {engine.pod_fields && <CreatePods {...props} />}
      </details>
    </>
  );
}
