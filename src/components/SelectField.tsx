import * as React from 'react';

export interface ISelectFieldProps {
  label: string;
  value: string;
  options: readonly { value: string; label: string; disabled?: boolean }[];
  disabled?: boolean;
  problem?: string;
  onChange: (value: string) => void;
}

/** A choice with its label. */
export function SelectField(props: ISelectFieldProps): React.JSX.Element {
  const id = React.useId();
  const { problem = '' } = props;
  return (
    <div className="jp-ElasticField">
      <label className="jp-ElasticField-label" htmlFor={id}>
        {props.label}
      </label>
      <select
        id={id}
        className="jp-ElasticInput"
        value={props.value}
        disabled={props.disabled}
        aria-describedby={problem === '' ? undefined : `${id}-problem`}
        onChange={event => props.onChange(event.target.value)}
      >
        {props.options.map(option => (
          <option
            key={option.value}
            value={option.value}
            disabled={option.disabled}
          >
            {option.label}
          </option>
        ))}
      </select>
      {problem !== '' && (
        <p id={`${id}-problem`} className="jp-ElasticProblem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
