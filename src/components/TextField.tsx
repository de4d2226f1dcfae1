import * as React from 'react';

export interface ITextFieldProps {
  label: string;
  value: string;
  disabled?: boolean;
  placeholder?: string;
  suggestions?: readonly string[];
  title?: string;

  /** Called with the text when the person is done with it. May reject: the text then stays. */
  onCommit: (text: string) => void;
  problem?: string;
}

/** A text that counts when it is left, or with Enter; Escape brings back what counted before. */
export function TextField(props: ITextFieldProps): React.JSX.Element {
  const id = React.useId();
  const [draft, setDraft] = React.useState<string | null>(null);
  const { value, problem = '', suggestions = [] } = props;
  const commit = (): void => {
    if (draft !== null && draft !== value) {
      props.onCommit(draft);
    }
  };
  // What was sent and accepted comes back as the value; only then the draft is over.
  React.useEffect(() => {
    setDraft(null);
  }, [value]);
  return (
    <div className="jp-ElasticField">
      <label className="jp-ElasticField-label" htmlFor={id}>
        {props.label}
      </label>
      <input
        id={id}
        className="jp-ElasticInput"
        type="text"
        title={props.title || undefined}
        spellCheck={false}
        autoComplete="off"
        list={suggestions.length > 0 ? `${id}-list` : undefined}
        value={draft ?? value}
        disabled={props.disabled}
        placeholder={props.placeholder}
        aria-invalid={problem !== ''}
        aria-describedby={problem === '' ? undefined : `${id}-problem`}
        onChange={event => setDraft(event.target.value)}
        onBlur={commit}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            commit();
          } else if (event.key === 'Escape' && draft !== null) {
            event.stopPropagation();
            setDraft(null);
          }
        }}
      />
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map(item => (
            <option key={item} value={item} />
          ))}
        </datalist>
      )}
      {problem !== '' && (
        <p id={`${id}-problem`} className="jp-ElasticProblem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
