import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

export interface IPassEnvProps {
  names: readonly string[];
  passable: readonly string[];
  disabled: boolean;
  onChange: (names: string[]) => void;
  trans: TranslationBundle;
}

/** Which variables of the server the training gets: names only, the values stay in the server. */
export function PassEnv(props: IPassEnvProps): React.JSX.Element {
  const { names, passable, trans } = props;
  const left = passable.filter(name => !names.includes(name));
  const add = React.useRef<HTMLSelectElement>(null);
  const remove = (name: string): void => {
    props.onChange(names.filter(item => item !== name));
    add.current?.focus();
  };
  return (
    <div className="jp-ElasticField">
      <span className="jp-ElasticField-label">
        {trans.__('Environment variables to pass')}
      </span>
      <div className="jp-ElasticChips">
        {names.map(name => (
          <span key={name} className="jp-ElasticChip">
            {name}
            <button
              type="button"
              className="jp-ElasticChip-remove"
              aria-label={trans.__('Do not pass %1', name)}
              disabled={props.disabled}
              onClick={() => remove(name)}
            >
              ×
            </button>
          </span>
        ))}
        <select
          ref={add}
          className="jp-ElasticInput"
          aria-label={trans.__('Pass another variable')}
          value=""
          disabled={props.disabled || left.length === 0}
          onChange={event => props.onChange([...names, event.target.value])}
        >
          <option value="">
            {left.length === 0 ? trans.__('none left') : trans.__('add…')}
          </option>
          {left.map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}
