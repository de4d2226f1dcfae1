import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { Button } from './Button';

export interface IErrorBoundaryProps {
  /** What else to copy: version, revision. */
  details: string;
  trans: TranslationBundle;
  children: React.ReactNode;
}

interface IErrorBoundaryState {
  error: Error | null;
}

/** Keeps a fault of one section from taking the others away. React knows no function component for this. */
export class ErrorBoundary extends React.Component<
  IErrorBoundaryProps,
  IErrorBoundaryState
> {
  static getDerivedStateFromError(error: Error): IErrorBoundaryState {
    return { error };
  }

  override state: IErrorBoundaryState = { error: null };

  override render(): React.ReactNode {
    const { error } = this.state;
    const { trans, details } = this.props;
    if (error === null) {
      return this.props.children;
    }
    const text = [details, error.message, error.stack].join('\n');
    return (
      <div className="jp-ElasticBanner jp-mod-error" role="alert">
        <p>{trans.__('This part cannot be shown. Nothing else is touched.')}</p>
        <div className="jp-ElasticRow">
          <Button onClick={() => this.setState({ error: null })}>
            {trans.__('Try again')}
          </Button>
          <Button onClick={() => Clipboard.copyToSystem(text)}>
            {trans.__('Copy details')}
          </Button>
        </div>
      </div>
    );
  }
}
