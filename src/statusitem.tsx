/** The status bar item as a widget. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import * as React from 'react';
import { StatusItem } from './components/StatusItem';
import type { IElasticModel } from './tokens';

export class ElasticStatus extends ReactWidget {
  constructor(options: ElasticStatus.IOptions) {
    super();
    this._options = options;
  }

  protected override render(): React.JSX.Element {
    const { model, onOpen, trans } = this._options;
    return (
      <UseSignal signal={model.changed}>
        {() => <StatusItem model={model} onOpen={onOpen} trans={trans} />}
      </UseSignal>
    );
  }

  private _options: ElasticStatus.IOptions;
}

/** A namespace for `ElasticStatus` statics. */
export namespace ElasticStatus {
  export interface IOptions {
    model: IElasticModel;
    onOpen: () => void;
    trans: TranslationBundle;
  }
}
