import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import * as React from 'react';
import type { ScriptSource } from '../scripts';
import type { IElasticActions, IElasticModel } from '../tokens';
import { CommandIDs } from '../tokens';
import { Banner } from './Banner';
import { ClusterView } from './ClusterView';
import { CreateForm } from './CreateForm';
import { EmptyState } from './EmptyState';
import { ErrorBoundary } from './ErrorBoundary';
import { LiveRegion } from './LiveRegion';
import { PanelHeader } from './PanelHeader';

export interface IElasticViewProps {
  model: IElasticModel;
  actions: IElasticActions;
  commands: CommandRegistry;
  scripts: ScriptSource;
  trans: TranslationBundle;
}

/** What had the focus is gone with its cluster or its form: the next control gets it. */
function useFocusKept(
  root: React.RefObject<HTMLElement>,
  shown: string | null
): void {
  const inside = React.useRef(false);
  React.useEffect(() => {
    const follow = (event: FocusEvent): void => {
      inside.current = root.current?.contains(event.target as Node) ?? false;
    };
    document.addEventListener('focusin', follow);
    return () => document.removeEventListener('focusin', follow);
  }, [root]);
  React.useEffect(() => {
    if (inside.current && document.activeElement === document.body) {
      root.current?.querySelector<HTMLElement>('button')?.focus();
    }
  }, [root, shown]);
}

/** The whole panel. */
export function ElasticView(props: IElasticViewProps): React.JSX.Element {
  const { model, actions, commands, trans } = props;
  const { state, selected } = model;
  const details = state
    ? `jupyter_elastic ${state.version}, revision ${state.revision.epoch}-${state.revision.n}`
    : 'jupyter_elastic';
  const waiting = state === null && model.problem === null;
  const empty = state !== null && selected === null && !model.creating;
  const root = React.useRef<HTMLDivElement>(null);
  useFocusKept(root, model.creating ? 'form' : (selected?.id ?? null));
  return (
    <ErrorBoundary details={details} trans={trans}>
      <PanelHeader
        commands={commands}
        creating={model.creating}
        trans={trans}
      />
      <div ref={root} className="jp-ElasticPanel-body">
        <Banner model={model} actions={actions} trans={trans} />
        {waiting && (
          <p className="jp-ElasticNote">{trans.__('Reading the clusters…')}</p>
        )}
        {model.creating && (
          <CreateForm
            model={model}
            actions={actions}
            scripts={props.scripts}
            trans={trans}
          />
        )}
        {empty && (
          <EmptyState
            options={model.options}
            onCreate={() => void commands.execute(CommandIDs.createCluster)}
            onExample={() => void commands.execute(CommandIDs.tryExample)}
            trans={trans}
          />
        )}
        {selected !== null && (
          <ClusterView {...props} cluster={selected} details={details} />
        )}
        {model.options?.notices.map((notice, index) => (
          <p key={index} className="jp-ElasticNote">
            {notice}
          </p>
        ))}
        <LiveRegion cluster={selected} trans={trans} />
      </div>
    </ErrorBoundary>
  );
}
