import * as React from 'react';

export interface IButtonProps {
  children: React.ReactNode;
  onClick?: () => void;
  disabled?: boolean;

  /** The one that goes on. */
  accept?: boolean;
  submit?: boolean;
  title?: string;
  describedBy?: string;
  className?: string;
}

/** A button. While it cannot be pressed it keeps the focus and can be asked why. */
export function Button(props: IButtonProps): React.JSX.Element {
  const { disabled = false, accept = false } = props;
  const classes = [
    'jp-ElasticButton',
    accept ? 'jp-mod-accept' : '',
    props.className ?? ''
  ];
  return (
    <button
      type={props.submit ? 'submit' : 'button'}
      className={classes.filter(name => name !== '').join(' ')}
      aria-disabled={disabled}
      title={props.title}
      aria-describedby={props.describedBy}
      onClick={event => {
        if (disabled) {
          // Enter in a field of the form comes here, too.
          event.preventDefault();
        } else {
          props.onClick?.();
        }
      }}
    >
      {props.children}
    </button>
  );
}
