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

/**
 * Where ready, target, the run's range and the limit are below the slider.
 *
 * The range is a line of its own height, ready lies within the ring of the target, and a limit at the end of the slider is
 * the number that stands there: no two signs cover each other.
 */
export function ScaleMarks(props: IScaleMarksProps): React.JSX.Element {
  const { largest, ready, target, limit, range } = props;
  const met = ready === target;
  const marks = [
    ...(met ? [] : [{ key: 'ready', size: ready, sign: '●' }]),
    { key: met ? 'met' : 'target', size: target, sign: met ? '◉' : '○' },
    ...(limit === largest ? [] : [{ key: 'limit', size: limit, sign: '│' }])
  ];
  return (
    <div className="jp-ElasticMarks" aria-hidden="true">
      {range !== null && (
        <span
          className="jp-ElasticMarks-range"
          style={{
            insetInlineStart: `calc(${Private.place(range.least, largest)})`,
            insetInlineEnd: `calc(100% - ${Private.place(Math.min(range.most, largest), largest)})`
          }}
        />
      )}
      {marks
        .filter(mark => mark.size >= 1 && mark.size <= largest)
        .map(mark => (
          <span
            key={mark.key}
            className={`jp-ElasticMarks-mark jp-mod-${mark.key}`}
            style={{
              insetInlineStart: `calc(${Private.place(mark.size, largest)})`
            }}
          >
            {mark.sign}
          </span>
        ))}
    </div>
  );
}

/** What the marks mean, with their numbers. */
export function ScaleLegend(props: IScaleMarksProps): React.JSX.Element {
  const { ready, target, limit, range, trans } = props;
  const entries = [
    { sign: '●', text: trans.__('ready %1', ready) },
    { sign: '○', text: trans.__('target %1', target) },
    { sign: '│', text: trans.__('limit %1', limit) }
  ];
  const legend: readonly { sign: string; text: string; title?: string }[] =
    range === null
      ? entries
      : [
          ...entries,
          {
            sign: '━',
            text: trans.__('run %1–%2', range.least, range.most),
            title: trans.__(
              'The live run takes %1 to %2 containers.',
              range.least,
              range.most
            )
          }
        ];
  return (
    <p className="jp-ElasticMarks-legend">
      {legend.map(entry => (
        <span key={entry.sign} title={entry.title}>
          <span aria-hidden="true">{entry.sign} </span>
          {entry.text}
        </span>
      ))}
    </p>
  );
}

namespace Private {
  /** Where a size is: the middle of the thumb goes from 8 px to 8 px before the end. */
  export function place(size: number, largest: number): string {
    const within = Math.min(Math.max(size, 1), largest);
    const share = largest <= 1 ? 0 : (within - 1) / (largest - 1);
    return `(8px + (100% - 16px) * ${share})`;
  }
}
