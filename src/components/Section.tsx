import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { ErrorBoundary } from './ErrorBoundary';

export interface ISectionProps {
  title: string;
  details: string;
  trans: TranslationBundle;
  children: React.ReactNode;
}

/** A part of the panel under its heading. */
export function Section(props: ISectionProps): React.JSX.Element {
  const id = React.useId();
  return (
    <section className="jp-ElasticSection" aria-labelledby={id}>
      <h3 id={id} className="jp-ElasticSection-title">
        {props.title}
      </h3>
      <ErrorBoundary details={props.details} trans={props.trans}>
        {props.children}
      </ErrorBoundary>
    </section>
  );
}
