import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster } from '../api';
import { parseWhole } from '../format';
import { containersFor, elasticRun, largestSize, sliderEnd } from '../state';
import type { IElasticActions, IElasticModel } from '../tokens';
import { gpuWords } from '../wording';
import { Button } from './Button';
import { PlanText } from './PlanText';
import { ScaleLegend, ScaleMarks } from './ScaleMarks';
import { useAction } from './useAction';
import { usePlan } from './usePlan';

export interface IScaleControlProps {
  model: IElasticModel;
  actions: IElasticActions;
  cluster: ICluster;
  trans: TranslationBundle;
}

/** The slider and its number field. Moving makes a draft and its plan; only Apply, or Enter, acts. */
export function ScaleControl(props: IScaleControlProps): React.JSX.Element {
  const { model, actions, cluster, trans } = props;
  const id = React.useId();
  const [busy, run] = useAction(actions);
  // What is in the number field while it is not a size; `null` while it is.
  const [typed, setTyped] = React.useState<string | null>(null);
  const draft = model.draft(cluster.id);
  const value = draft ?? cluster.target;
  const largest = sliderEnd(cluster);
  const { plan, problem } = usePlan(model, cluster, draft);
  const over = cluster.state === 'releasing' || cluster.state === 'ended';
  const last = cluster.last_change;
  const atLimit = cluster.target >= cluster.limit.size;
  const pending = draft !== null || typed !== null;
  const marks = {
    largest,
    ready: cluster.ready,
    target: cluster.target,
    limit: cluster.limit.size,
    range: Private.range(cluster),
    trans
  };

  const restore = (): void => {
    setTyped(null);
    model.setDraft(cluster.id, null);
  };
  const choose = (size: number): void => {
    setTyped(null);
    model.setDraft(cluster.id, Private.snap(cluster, size, value));
  };
  const type = (text: string): void => {
    const size = parseWhole(text);
    const fine = size !== null && Private.allowed(cluster, size);
    setTyped(fine ? null : text);
    model.setDraft(cluster.id, fine ? size : null);
  };
  const apply = (): void => {
    if (draft !== null) {
      run(() => actions.scale(cluster.id, draft, { ask: false }));
    }
  };
  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (event.key === 'Escape' && pending) {
      event.preventDefault();
      event.stopPropagation();
      restore();
    }
  };
  const reason = over
    ? trans.__('The cluster is going away.')
    : typed !== null
      ? Private.rule(cluster, trans)
      : draft === null
        ? trans.__('Choose another size first.')
        : '';

  return (
    <div
      className="jp-ElasticScale"
      data-lm-suppress-shortcuts="true"
      onKeyDown={onKeyDown}
    >
      <label htmlFor={`${id}-range`} className="jp-sr-only">
        {trans.__('Size of %1', cluster.name)}
      </label>
      <div className="jp-ElasticScale-track">
        <span aria-hidden="true">1</span>
        <div className="jp-ElasticScale-slider">
          <input
            id={`${id}-range`}
            type="range"
            min={1}
            max={largest}
            step={1}
            value={value}
            disabled={over}
            aria-valuetext={Private.valueText(cluster, value, trans)}
            aria-describedby={`${id}-plan`}
            onChange={event => choose(Number(event.target.value))}
          />
          <ScaleMarks {...marks} />
        </div>
        <span aria-hidden="true">{largest}</span>
      </div>
      <ScaleLegend {...marks} />
      <form
        className="jp-ElasticRow"
        noValidate
        onSubmit={event => {
          event.preventDefault();
          apply();
        }}
      >
        <input
          className="jp-ElasticInput jp-ElasticScale-number"
          type="number"
          min={1}
          max={largestSize(cluster)}
          step={1}
          aria-label={trans.__('Number of containers')}
          aria-invalid={typed !== null}
          aria-describedby={`${id}-plan`}
          value={typed ?? String(value)}
          disabled={over}
          onChange={event => type(event.target.value)}
        />
        <Button
          accept
          submit
          disabled={busy || over || draft === null}
          title={reason}
          describedBy={`${id}-plan`}
        >
          {trans.__('Apply')}
        </Button>
        {pending ? (
          <Button onClick={restore}>{trans.__('Cancel')}</Button>
        ) : (
          <Button
            disabled={busy || !last?.undo}
            title={
              last?.undo
                ? trans.__('Back to %1', last.previous)
                : trans.__('There is no change that can be undone.')
            }
            onClick={() => run(() => actions.undo(cluster.id, { ask: false }))}
          >
            {trans.__('Undo')}
          </Button>
        )}
      </form>
      {draft !== null ? (
        <PlanText
          id={`${id}-plan`}
          plan={plan}
          problem={problem}
          trans={trans}
        />
      ) : typed !== null ? (
        <p
          id={`${id}-plan`}
          className="jp-ElasticPlan jp-mod-error"
          role="alert"
          title={cluster.limit.detail}
        >
          {reason}
        </p>
      ) : (
        <p
          id={`${id}-plan`}
          className="jp-ElasticNote"
          title={atLimit ? cluster.limit.detail : undefined}
        >
          {over ? reason : atLimit ? cluster.limit.text : ''}
        </p>
      )}
    </div>
  );
}

namespace Private {
  /** Whether a framework can train with this size, and the limit lets it. */
  export function allowed(cluster: ICluster, size: number): boolean {
    const { valid_sizes: valid } = cluster;
    return (
      size >= 1 &&
      size <= largestSize(cluster) &&
      (valid === null || valid.includes(size))
    );
  }

  /** The next size in the direction of the move that the framework can train with. */
  export function snap(cluster: ICluster, size: number, from: number): number {
    const { valid_sizes: valid } = cluster;
    if (valid === null || valid.length === 0 || valid.includes(size)) {
      return size;
    }
    const sorted = [...valid].sort((a, b) => a - b);
    const above = sorted.find(item => item > size);
    const below = sorted.reverse().find(item => item < size);
    return (size > from ? (above ?? below) : (below ?? above)) ?? from;
  }

  export function rule(cluster: ICluster, trans: TranslationBundle): string {
    const { valid_sizes: valid } = cluster;
    return valid === null
      ? trans.__(
          'A whole number from 1 to %1. %2',
          largestSize(cluster),
          cluster.limit.text
        )
      : trans.__('One of these sizes: %1.', valid.join(', '));
  }

  /** "4 of 8 containers, 16 GPUs". */
  export function valueText(
    cluster: ICluster,
    size: number,
    trans: TranslationBundle
  ): string {
    const containers = trans.__(
      '%1 of %2 containers',
      size,
      largestSize(cluster)
    );
    const gpus = gpuWords(size * cluster.gpus_per_container, trans);
    return gpus === '' ? containers : `${containers}, ${gpus}`;
  }

  /** The containers that the live elastic run can take. */
  export function range(
    cluster: ICluster
  ): { least: number; most: number } | null {
    const run = elasticRun(cluster);
    if (run === null) {
      return null;
    }
    const largest = largestSize(cluster);
    return {
      least: run.min_np === null ? 1 : containersFor(cluster, run.min_np),
      most: run.max_np === null ? largest : containersFor(cluster, run.max_np)
    };
  }
}
