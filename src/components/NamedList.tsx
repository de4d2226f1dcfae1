import * as React from 'react';

/** A titled list; nothing when it is empty. */
export function NamedList(props: {
  title: string;
  items: readonly string[];
}): React.JSX.Element | null {
  if (props.items.length === 0) {
    return null;
  }
  return (
    <div className="jp-ElasticList">
      {props.title !== '' && <p>{props.title}</p>}
      <ul>
        {props.items.map((item, index) => (
          <li key={index}>{item}</li>
        ))}
      </ul>
    </div>
  );
}
