import * as React from 'react';

/** A name in one line. Where there is no room its middle goes: names differ at their ends. */
export function MiddleCut(props: {
  text: string;

  /** How many characters of the end stay, whatever there is room for. */
  end?: number;
}): React.JSX.Element {
  const { text, end = 8 } = props;
  const letters = Array.from(text);
  if (letters.length <= 2 * end) {
    return <span title={text}>{text}</span>;
  }
  return (
    <span className="jp-ElasticCut" title={text}>
      <span className="jp-sr-only">{text}</span>
      <span aria-hidden="true" className="jp-ElasticCut-start">
        {letters.slice(0, -end).join('')}
      </span>
      <span aria-hidden="true">{letters.slice(-end).join('')}</span>
    </span>
  );
}
