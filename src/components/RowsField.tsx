import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

export interface IColumn {
  label: string;

  /** Whether what is typed is hidden, as a password is. */
  masked?: boolean;

  /** What can be chosen; without it anything can be typed. */
  choices?: readonly string[];
}

export interface IRowsFieldProps {
  label: string;
  columns: readonly IColumn[];
  rows: readonly (readonly string[])[];
  problem?: string;
  note?: string;
  onChange: (rows: string[][]) => void;
  trans: TranslationBundle;
}

/** Any number of rows of the same few values, each of which can be taken away again. */
export function RowsField(props: IRowsFieldProps): React.JSX.Element {
  const { columns, label, rows, problem = '', note = '', trans } = props;
  const id = React.useId();
  const add = React.useRef<HTMLButtonElement>(null);
  const copy = (): string[][] => rows.map(row => [...row]);
  const set = (row: number, column: number, value: string): void => {
    const next = copy();
    next[row][column] = value;
    props.onChange(next);
  };
  const remove = (row: number): void => {
    props.onChange(copy().filter((_, index) => index !== row));
    add.current?.focus();
  };
  return (
    <fieldset className="jp-ElasticFieldset" aria-describedby={`${id}-note`}>
      <legend>{label}</legend>
      {rows.map((row, number) => (
        // A row has no identity but its place.
        <div key={number} className="jp-ElasticRow">
          {columns.map((column, index) => (
            <Private.Cell
              key={column.label}
              column={column}
              name={trans.__('%1 %2: %3', label, number + 1, column.label)}
              value={row[index] ?? ''}
              onChange={value => set(number, index, value)}
            />
          ))}
          <button
            type="button"
            className="jp-ElasticIconButton"
            aria-label={trans.__('Remove %1 %2', label, number + 1)}
            title={trans.__('Remove')}
            onClick={() => remove(number)}
          >
            ×
          </button>
        </div>
      ))}
      <button
        ref={add}
        type="button"
        className="jp-ElasticButton"
        aria-label={trans.__('Add to %1', label)}
        onClick={() => props.onChange([...copy(), columns.map(() => '')])}
      >
        {trans.__('add…')}
      </button>
      <p
        id={`${id}-note`}
        className={problem === '' ? 'jp-ElasticNote' : 'jp-ElasticProblem'}
        role={problem === '' ? undefined : 'alert'}
      >
        {problem === '' ? note : problem}
      </p>
    </fieldset>
  );
}

namespace Private {
  export function Cell(props: {
    column: IColumn;
    name: string;
    value: string;
    onChange: (value: string) => void;
  }): React.JSX.Element {
    const { column, name, value } = props;
    if (column.choices !== undefined) {
      return (
        <select
          className="jp-ElasticInput"
          aria-label={name}
          value={value}
          onChange={event => props.onChange(event.target.value)}
        >
          {column.choices.map(choice => (
            <option key={choice} value={choice}>
              {choice === '' ? column.label : choice}
            </option>
          ))}
        </select>
      );
    }
    return (
      <input
        className="jp-ElasticInput"
        type={column.masked ? 'password' : 'text'}
        aria-label={name}
        placeholder={column.label}
        spellCheck={false}
        autoComplete={column.masked ? 'new-password' : 'off'}
        value={value}
        onChange={event => props.onChange(event.target.value)}
      />
    );
  }
}
