/** Terminals of clusters: a new one with the command typed, or the one of a living shell. */
import { Clipboard, Notification } from '@jupyterlab/apputils';
import type { TerminalManager } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import type { ElasticApi, ILaunch } from './api';
import type { Outcome } from './terminal';
import { openTerminal, showTerminal } from './terminal';

/** How long a hint stays, in ms. */
const HINT_CLOSE = 6000;

/** How long a message with something to copy stays, in ms. */
const COPY_CLOSE = 20000;

export class LaunchTerminals {
  constructor(options: LaunchTerminals.IOptions) {
    this._api = options.api;
    this._commands = options.commands;
    this._opened = options.opened;
    this._terminals = options.terminals;
    this._trans = options.trans;
  }

  /** Open a terminal in the script's folder with the command typed, not run. */
  async openLaunch(id: string): Promise<void> {
    const { name, shell, launch } = await this._api.terminal(id);
    if (launch !== null) {
      this._opened(shell, id, launch.program);
    }
    const outcome = await openTerminal({
      commands: this._commands,
      terminals: this._terminals,
      name,
      text: launch?.ready ? launch.text : null
    });
    if (outcome !== 'lost') {
      this._names.set(shell, name);
    }
    this._tell(outcome, launch);
  }

  /** Show the terminal of a living shell, attaching a new one when there is none. */
  async openShell(id: string, shell: string): Promise<void> {
    const known = this._names.get(shell);
    await this._terminals.refreshRunning();
    const running = [...this._terminals.running()].map(model => model.name);
    if (known !== undefined && running.includes(known)) {
      await showTerminal(this._commands, known);
      return;
    }
    const { name } = await this._api.terminal(id, shell);
    const outcome = await openTerminal({
      commands: this._commands,
      terminals: this._terminals,
      name,
      text: null
    });
    this._names.set(shell, name);
    this._tell(outcome, null);
  }

  private _tell(outcome: Outcome, launch: ILaunch | null): void {
    const trans = this._trans;
    switch (outcome) {
      case 'pasted':
        Notification.info(trans.__('Press Enter in the terminal to run it.'), {
          autoClose: HINT_CLOSE
        });
        break;
      case 'opened':
        if (launch?.reason) {
          Notification.warning(launch.reason.text, { autoClose: HINT_CLOSE });
        }
        break;
      case 'lost':
        Notification.error(
          trans.__('The terminal ended before it could be shown. Try again.')
        );
        break;
      case 'elsewhere':
        this._offerCopy(
          trans.__(
            'The terminal opened in a browser tab of its own, where nothing can be typed for you.'
          ),
          launch
        );
        break;
      case 'too-long':
        this._offerCopy(
          trans.__('The command is too long to be typed for you.'),
          launch
        );
        break;
      case 'unavailable':
        this._offerCopy(trans.__('Terminals cannot be opened here.'), launch);
        break;
    }
  }

  private _offerCopy(message: string, launch: ILaunch | null): void {
    const trans = this._trans;
    const copy = {
      label: trans.__('Copy command'),
      callback: () => Clipboard.copyToSystem(launch?.text ?? '')
    };
    Notification.warning(message, {
      autoClose: COPY_CLOSE,
      actions: launch?.text ? [copy] : []
    });
  }

  private _api: ElasticApi;
  private _commands: CommandRegistry;
  private _names = new Map<string, string>();
  private _opened: LaunchTerminals.IOptions['opened'];
  private _terminals: Pick<TerminalManager, 'refreshRunning' | 'running'>;
  private _trans: TranslationBundle;
}

/** A namespace for `LaunchTerminals` statics. */
export namespace LaunchTerminals {
  export interface IOptions {
    api: ElasticApi;
    commands: CommandRegistry;

    /** Told of each new shell, its cluster's id and what is typed there, before its terminal is there. */
    opened: (shell: string, cluster: string, program: string) => void;
    terminals: Pick<TerminalManager, 'refreshRunning' | 'running'>;
    trans: TranslationBundle;
  }
}
