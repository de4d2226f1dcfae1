/**
 * Put a command into a terminal, ready to be edited, never run.
 *
 * Order matters (measured): the listener must be there before the terminal is revealed, else the shell's first output is
 * missed; pasting before it is revealed is lost without an error; pasting before the prompt shows the text twice.
 */
import type { MainAreaWidget } from '@jupyterlab/apputils';
import type { Terminal, TerminalManager } from '@jupyterlab/services';
import type { ITerminal } from '@jupyterlab/terminal';
import type { CommandRegistry } from '@lumino/commands';

/** How long to wait for a prompt before the text is pasted anyway, in ms. */
export const PROMPT_TIMEOUT = 3000;

/** The longest text that is pasted, in bytes. */
export const MAX_BYTES = 1024;

const CREATE_TERMINAL = 'terminal:create-new';
const OPEN_TERMINAL = 'terminal:open';

/**
 * What became of the text:
 *
 * - `pasted`: it waits at the prompt
 * - `elsewhere`: the terminal opened in a browser tab of its own, which cannot be reached
 * - `too-long`: the terminal is open, the text is not one line of at most {@link MAX_BYTES} bytes
 * - `lost`: the server knows no terminal of that name any more
 * - `unavailable`: there are no terminals here
 * - `opened`: there was no text
 */
export type Outcome =
  'pasted' | 'elsewhere' | 'too-long' | 'lost' | 'unavailable' | 'opened';

/** A terminal that the server made. */
export interface ITerminalRequest {
  commands: CommandRegistry;
  terminals: Pick<TerminalManager, 'refreshRunning' | 'running'>;
  name: string;
  text: string | null;
  timeout?: number;
}

/** Open the terminal `name` and paste `text` at its prompt. */
export async function openTerminal(
  options: ITerminalRequest
): Promise<Outcome> {
  const { commands, terminals, name } = options;
  if (!commands.hasCommand(CREATE_TERMINAL)) {
    return 'unavailable';
  }
  // For a name that is gone JupyterLab would start a default shell, outside the cluster, under the same name.
  await terminals.refreshRunning();
  if (![...terminals.running()].some(model => model.name === name)) {
    return 'lost';
  }
  const widget: unknown = await commands.execute(CREATE_TERMINAL, { name });
  if (!Private.isTerminal(widget)) {
    return 'elsewhere';
  }
  const text = options.text === null ? null : cleanLine(options.text);
  const ready = Private.firstOutput(
    widget.content.session,
    options.timeout ?? PROMPT_TIMEOUT
  );
  // The terminal may also be taken away: Notebook 7 closes it here and opens a browser tab.
  const taken = Private.whenDisposed(widget);
  const shown = await Promise.race([
    Promise.all([widget.revealed, ready.promise]).then(() => true),
    taken.then(() => false)
  ]);
  ready.dispose();
  if (!shown || widget.isDisposed || widget.content.isDisposed) {
    return 'elsewhere';
  }
  if (text === null) {
    return 'opened';
  }
  if (!fits(text)) {
    return 'too-long';
  }
  widget.content.paste(text);
  return 'pasted';
}

/** Show the tab of a terminal that is open already. */
export async function showTerminal(
  commands: CommandRegistry,
  name: string
): Promise<void> {
  await commands.execute(OPEN_TERMINAL, { name });
}

/** Remove everything that a terminal would act upon: control characters, line ends, invisible marks. */
export function cleanLine(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
}

/** Whether a text may be pasted as it is. */
export function fits(text: string): boolean {
  return text !== '' && new TextEncoder().encode(text).length <= MAX_BYTES;
}

namespace Private {
  type TerminalWidget = MainAreaWidget<ITerminal.ITerminal>;

  export function isTerminal(value: unknown): value is TerminalWidget {
    return (
      typeof value === 'object' &&
      value !== null &&
      'content' in value &&
      'revealed' in value &&
      !(value as TerminalWidget).isDisposed
    );
  }

  export function whenDisposed(widget: TerminalWidget): Promise<void> {
    return new Promise(resolve => {
      widget.disposed.connect(() => resolve());
    });
  }

  /** Resolves with the first output of a session, or after `timeout` ms. */
  export function firstOutput(
    session: Terminal.ITerminalConnection,
    timeout: number
  ): { promise: Promise<void>; dispose: () => void } {
    let dispose = (): void => undefined;
    const promise = new Promise<void>(resolve => {
      const onMessage = (_: unknown, message: Terminal.IMessage): void => {
        if (message.type === 'stdout') {
          resolve();
        }
      };
      const timer = window.setTimeout(resolve, timeout);
      session.messageReceived.connect(onMessage);
      dispose = () => {
        window.clearTimeout(timer);
        session.messageReceived.disconnect(onMessage);
      };
    });
    return { promise, dispose };
  }
}
