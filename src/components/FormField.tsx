import * as React from 'react';

/** A labelled text or number of the create form, with what is wrong about it. */
export const FormField = React.forwardRef<
  HTMLInputElement,
  {
    label: string;
    value: string;
    type?: 'text' | 'number';
    min?: number;
    max?: number;
    note?: string;
    placeholder?: string;
    title?: string;
    suggestions?: readonly string[];
    problem?: string;

    /** More about what is wrong, shown on hovering. */
    problemDetail?: string;
    onChange: (value: string) => void;
  }
>(function FormField(props, ref): React.JSX.Element {
  const id = React.useId();
  const { problem = '', note = '', suggestions = [] } = props;
  return (
    <div className="jp-ElasticField">
      <label className="jp-ElasticField-label" htmlFor={id}>
        {props.label}
      </label>
      <input
        ref={ref}
        id={id}
        className="jp-ElasticInput"
        type={props.type ?? 'text'}
        title={props.title || undefined}
        min={props.min}
        max={props.max}
        spellCheck={false}
        autoComplete="off"
        placeholder={props.placeholder}
        list={suggestions.length > 0 ? `${id}-list` : undefined}
        value={props.value}
        aria-invalid={problem !== ''}
        aria-describedby={`${id}-note`}
        onChange={event => props.onChange(event.target.value)}
      />
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map(item => (
            <option key={item} value={item} />
          ))}
        </datalist>
      )}
      <p
        id={`${id}-note`}
        className={problem === '' ? 'jp-ElasticNote' : 'jp-ElasticProblem'}
        role={problem === '' ? undefined : 'alert'}
        title={problem === '' ? undefined : props.problemDetail}
      >
        {problem === '' ? note : problem}
      </p>
    </div>
  );
});
