import type { Terminal } from '@jupyterlab/services';
import { PromiseDelegate } from '@lumino/coreutils';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import type { Outcome } from '../terminal';
import { cleanLine, fits, MAX_BYTES, openTerminal } from '../terminal';
import { pause } from './fixtures';

/** A terminal widget that does only what it is told. */
class FakeTerminal {
  isDisposed = false;
  shown = new PromiseDelegate<void>();
  disposed = new Signal<this, void>(this);
  messageReceived = new Signal<object, Terminal.IMessage>({});
  pasted: string[] = [];
  content = {
    isDisposed: false,
    session: { messageReceived: this.messageReceived },
    paste: (text: string) => this.pasted.push(text)
  };

  get revealed(): Promise<void> {
    return this.shown.promise;
  }

  output(type: 'stdout' | 'set_size' = 'stdout'): void {
    this.messageReceived.emit({ type, content: ['$ '] });
  }

  dispose(): void {
    this.isDisposed = true;
    this.disposed.emit();
  }
}

describe('openTerminal', () => {
  let commands: CommandRegistry;
  let terminal: FakeTerminal;
  let created: unknown[];
  let running: string[];
  const text = 'horovodrun -np 2 python train.py';

  beforeEach(() => {
    commands = new CommandRegistry();
    terminal = new FakeTerminal();
    created = [];
    running = ['1'];
    commands.addCommand('terminal:create-new', {
      execute: args => {
        created.push(args);
        return terminal;
      }
    });
  });

  const open = (
    what: string | null = text,
    timeout = 1000
  ): Promise<Outcome> => {
    const terminals = {
      refreshRunning: async () => undefined,
      running: () => running.map(name => ({ name }))[Symbol.iterator]()
    };
    return openTerminal({
      commands,
      terminals,
      name: '1',
      text: what,
      timeout
    });
  };

  it('pastes once, after it is revealed and the prompt is there', async () => {
    const outcome = open();
    await pause(20);
    expect(terminal.pasted).toEqual([]);
    terminal.shown.resolve();
    await pause(20);
    expect(terminal.pasted).toEqual([]);
    terminal.output('set_size');
    await pause(20);
    expect(terminal.pasted).toEqual([]);
    terminal.output();
    expect(await outcome).toBe('pasted');
    terminal.output();
    expect(terminal.pasted).toEqual([text]);
    expect(created).toEqual([{ name: '1' }]);
  });

  it('hears the prompt that comes before it is revealed', async () => {
    const outcome = open(text, 60_000);
    await pause(20);
    terminal.output();
    terminal.shown.resolve();
    expect(await outcome).toBe('pasted');
  });

  it('pastes anyway when no prompt comes', async () => {
    terminal.shown.resolve();
    const began = Date.now();
    expect(await open(text, 100)).toBe('pasted');
    expect(Date.now() - began).toBeGreaterThanOrEqual(95);
    expect(terminal.pasted).toEqual([text]);
  });

  it('never sends an Enter or any other control character', async () => {
    terminal.shown.resolve();
    await open('echo a\r\nrm b\u0003\u001b[31m\u0085\u2028c', 10);
    expect(terminal.pasted).toEqual(['echo arm b[31mc']);
  });

  it('pastes nothing that is too long', async () => {
    terminal.shown.resolve();
    expect(await open('x'.repeat(MAX_BYTES + 1), 10)).toBe('too-long');
    expect(terminal.pasted).toEqual([]);
  });

  it('opens without a text', async () => {
    terminal.shown.resolve();
    expect(await open(null, 10)).toBe('opened');
    expect(terminal.pasted).toEqual([]);
  });

  it('does not let a default shell start under a lost name', async () => {
    running = ['2'];
    expect(await open()).toBe('lost');
    expect(created).toEqual([]);
  });

  it('says so where the terminal opens in a tab of its own', async () => {
    const outcome = open();
    await pause(20);
    terminal.dispose();
    expect(await outcome).toBe('elsewhere');
    expect(terminal.pasted).toEqual([]);
  });

  it('says so where there is no widget, or no command', async () => {
    commands = new CommandRegistry();
    expect(await open()).toBe('unavailable');
    commands.addCommand('terminal:create-new', { execute: () => undefined });
    expect(await open()).toBe('elsewhere');
  });
});

describe('the text', () => {
  it('is one clean line', () => {
    expect(cleanLine('a\tb\nc\u007fd é')).toBe('abcd é');
  });

  it('is measured in bytes', () => {
    expect(fits('é'.repeat(MAX_BYTES / 2))).toBe(true);
    expect(fits('é'.repeat(MAX_BYTES / 2 + 1))).toBe(false);
    expect(fits('')).toBe(false);
  });
});
