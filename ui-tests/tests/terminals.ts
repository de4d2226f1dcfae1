/** What terminals show. Their text is drawn, not part of the document, so it is read from the buffer. */
import type { Page } from '@playwright/test';

/** The lines of one terminal as a person sees them: wrapped ones joined, empty ones at the end left out. */
export interface ITerminalText {
  name: string;
  lines: string[];
}

interface ILine {
  isWrapped: boolean;
  translateToString(trim: boolean): string;
}

interface IBuffer {
  length: number;
  getLine(row: number): ILine | undefined;
}

interface ITerminalWidget {
  content?: {
    session?: { name: string };
    _term?: { buffer: { active: IBuffer } };
  };
}

interface IApp {
  shell: { widgets(area: string): Iterable<ITerminalWidget> };
}

/** All open terminals, in the order of their tabs. */
export async function terminals(page: Page): Promise<ITerminalText[]> {
  return page.evaluate(() => {
    const { jupyterapp } = window as unknown as { jupyterapp: IApp };
    const found: ITerminalText[] = [];
    for (const widget of jupyterapp.shell.widgets('main')) {
      const buffer = widget.content?._term?.buffer.active;
      if (!buffer) {
        continue;
      }
      const lines: string[] = [];
      for (let row = 0; row < buffer.length; row++) {
        const line = buffer.getLine(row);
        const text = line?.translateToString(true) ?? '';
        if (line?.isWrapped && lines.length > 0) {
          lines[lines.length - 1] += text;
        } else {
          lines.push(text);
        }
      }
      while (lines.length > 0 && lines[lines.length - 1].trim() === '') {
        lines.pop();
      }
      found.push({ name: widget.content?.session?.name ?? '', lines });
    }
    return found;
  });
}

/** The text of the terminal that was opened last; '' when there is none. */
export async function terminalText(page: Page): Promise<string> {
  return (await terminals(page)).at(-1)?.lines.join('\n') ?? '';
}
