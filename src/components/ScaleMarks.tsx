import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

export interface IScaleMarksProps {
  largest: number;
  ready: number;
  target: number;
  limit: number;

  /** The containers a live elastic run can take, or `null`. */
  range: { least: number; most: number } | null;
  trans: TranslationBundle;
}

interface IMark {
  key: string;
  size: number;
  sign: string;

  /** The sign in the legend, where it is another one. */
  legend?: string;
  text: string;
}

/** Where ready, target, the run's range and the limit are below the slider, and the same in words. */
export function ScaleMarks(props: IScaleMarksProps): React.JSX.Element {
  const { largest, range, trans } = props;
  const marks: IMark[] = [
    {
      key: 'ready',
      size: props.ready,
      sign: '●',
      text: trans.__('ready %1', props.ready)
    },
    {
      key: 'target',
      size: props.target,
      sign: '○',
      text: trans.__('target %1', props.target)
    },
    {
      key: 'limit',
      size: props.limit,
      sign: '│',
      text: trans.__('limit %1', props.limit)
    }
  ];
  if (range !== null) {
    const text = trans.__('run takes %1 to %2', range.least, range.most);
    marks.push(
      { key: 'least', size: range.least, sign: '[', legend: '[ ]', text },
      { key: 'most', size: range.most, sign: ']', text: '' }
    );
  }
  const place = (size: number): React.CSSProperties => {
    const share = largest <= 1 ? 0 : (size - 1) / (largest - 1);
    // The middle of the thumb goes from 8 px to 8 px before the end.
    return { insetInlineStart: `calc(8px + (100% - 16px) * ${share})` };
  };
  return (
    <>
      <div className="jp-ElasticMarks" aria-hidden="true">
        {marks
          .filter(mark => mark.size >= 1 && mark.size <= largest)
          .map(mark => (
            <span
              key={mark.key}
              className={`jp-ElasticMarks-mark jp-mod-${mark.key}`}
              style={place(mark.size)}
            >
              {mark.sign}
            </span>
          ))}
      </div>
      <p className="jp-ElasticMarks-legend">
        {marks
          .filter(mark => mark.text !== '')
          .map(mark => (
            <span key={mark.key}>
              <span aria-hidden="true">{mark.legend ?? mark.sign} </span>
              {mark.text}
            </span>
          ))}
      </p>
    </>
  );
}
