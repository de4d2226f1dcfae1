import type { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import * as React from 'react';
import { chosenEngine, firstDraft, formField, toRequest } from '../createdraft';
import type { Problems } from '../createdraft';
import { RequestError } from '../request';
import type { ScriptSource } from '../scripts';
import type { ICreateDraft, IElasticActions, IElasticModel } from '../tokens';
import { Button } from './Button';
import { CreateBasics } from './CreateBasics';
import { CreateGpus } from './CreateGpus';
import { CreateMore } from './CreateMore';
import { CreateSummary } from './CreateSummary';
import { useAction } from './useAction';

export interface ICreateFormProps {
  model: IElasticModel;
  actions: IElasticActions;
  scripts: ScriptSource;
  trans: TranslationBundle;
}

/** A new cluster. Enter creates, Escape closes; what was typed is kept. */
export function CreateForm(props: ICreateFormProps): React.JSX.Element {
  const { model, actions, trans } = props;
  const id = React.useId();
  const [busy, run] = useAction(actions);
  const [refusal, setRefusal] = React.useState<RequestError | null>(null);
  // What is missing is not marked before the person tried to send it; a number out of range is.
  const [tried, setTried] = React.useState(false);
  const { options } = model;
  if (options === null) {
    return (
      <p className="jp-ElasticNote">{trans.__('Reading what there is…')}</p>
    );
  }
  const names = model.clusters.map(cluster => cluster.name);
  const draft = model.createDraft ?? firstDraft(options, names);
  const { request, problems } = toRequest(options, draft, trans);
  const early = Private.numbers(draft, problems);
  const shown = Private.problems(tried ? problems : early, refusal);
  const close = (): void => model.setCreating(false);
  const change = (next: ICreateDraft): void => {
    setRefusal(null);
    model.setCreateDraft(next);
  };
  const create = async (): Promise<void> => {
    setTried(true);
    if (request === null) {
      return;
    }
    try {
      const cluster = await model.api.create(request);
      model.setCreateDraft(null);
      model.setCreating(false);
      await model.refresh();
      model.select(cluster.id);
    } catch (error) {
      setRefusal(RequestError.from(error));
    }
  };
  const fields = { options, draft, problems: shown, onChange: change, trans };
  const engine = chosenEngine(options, draft);
  return (
    <form
      className="jp-ElasticForm"
      noValidate
      aria-labelledby={id}
      data-lm-suppress-shortcuts="true"
      onSubmit={event => {
        event.preventDefault();
        run(create);
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          close();
        }
      }}
    >
      <div className="jp-ElasticForm-head">
        <h3 id={id} className="jp-ElasticSection-title">
          {trans.__('New cluster')}
        </h3>
        <button
          type="button"
          className="jp-ElasticIconButton"
          aria-label={trans.__('Close the form')}
          title={trans.__('Close the form')}
          onClick={close}
        >
          <closeIcon.react tag="span" elementSize="normal" />
        </button>
      </div>
      <CreateBasics {...fields} scripts={props.scripts} />
      {engine !== null && <CreateGpus {...fields} engine={engine} />}
      {engine !== null && <CreateMore {...fields} engine={engine} />}
      <CreateSummary model={model} request={request} trans={trans} />
      {refusal !== null && formField(refusal.field) === null && (
        <p className="jp-ElasticProblem" role="alert">
          {refusal.message} {refusal.hint}
        </p>
      )}
      <Button accept submit disabled={busy}>
        {busy ? trans.__('Creating…') : trans.__('Create')}
      </Button>
    </form>
  );
}

namespace Private {
  /** What is wrong with the numbers that were typed so far. */
  export function numbers(draft: ICreateDraft, problems: Problems): Problems {
    const fields = ['size', 'gpus', 'sharedMemory', 'cpu', 'memory'] as const;
    const wrong = fields.filter(
      field => problems[field] !== undefined && draft[field].trim() !== ''
    );
    return Object.fromEntries(wrong.map(field => [field, problems[field]]));
  }

  /** What is wrong, by field: ours, and what the server said about the field it names. */
  export function problems(
    own: Problems,
    refusal: RequestError | null
  ): Problems {
    const field = refusal === null ? null : formField(refusal.field);
    return refusal === null || field === null
      ? own
      : { ...own, [field]: `${refusal.message} ${refusal.hint}`.trim() };
  }
}
