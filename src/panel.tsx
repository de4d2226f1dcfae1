/** The sidebar as a widget. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import type { CommandRegistry } from '@lumino/commands';
import type { Message } from '@lumino/messaging';
import * as React from 'react';
import { ElasticView } from './components/ElasticView';
import { clusterIcon } from './icons';
import type { ScriptSource } from './scripts';
import type { IElasticActions, IElasticModel } from './tokens';
import { PANEL_ID } from './tokens';

export class ElasticPanel extends ReactWidget {
  constructor(options: ElasticPanel.IOptions) {
    super();
    this._options = options;
    const { trans } = options;
    this.id = PANEL_ID;
    this.addClass('jp-ElasticPanel');
    this.title.icon = clusterIcon;
    this.title.caption = trans.__('Elastic: training clusters');
    this.title.dataset = { jpTabLabel: trans.__('Elastic') };
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Elastic'));
  }

  protected override render(): React.JSX.Element {
    const { model, actions, commands, scripts, trans } = this._options;
    return (
      <UseSignal signal={model.changed}>
        {() => (
          <ElasticView
            model={model}
            actions={actions}
            commands={commands}
            scripts={scripts}
            trans={trans}
          />
        )}
      </UseSignal>
    );
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._options.model.setPanelVisible(true);
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._options.model.setPanelVisible(false);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._options.model.setPanelVisible(this.isVisible);
  }

  protected override onBeforeDetach(message: Message): void {
    super.onBeforeDetach(message);
    this._options.model.setPanelVisible(false);
  }

  /** Called when the sidebar is opened: the first control gets the focus. */
  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (!this.node.contains(document.activeElement)) {
      const selector = '.jp-ElasticForm input, button';
      this.node.querySelector<HTMLElement>(selector)?.focus();
    }
  }

  private _options: ElasticPanel.IOptions;
}

/** A namespace for `ElasticPanel` statics. */
export namespace ElasticPanel {
  export interface IOptions {
    model: IElasticModel;
    actions: IElasticActions;
    commands: CommandRegistry;
    scripts: ScriptSource;
    trans: TranslationBundle;
  }
}
