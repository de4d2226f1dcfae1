import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import * as React from 'react';
import { FOLLOW_INTERVAL, LogText } from '../components/LogText';
import { setVisibility, trans } from './fixtures';

describe('LogText', () => {
  let text: string;
  let reads: number;
  let grows: boolean;
  let latest: string;

  const show = (): void => {
    const read = async (): Promise<string> => {
      reads += 1;
      return text;
    };
    const more = (): boolean => grows;
    const onRead = (next: string): void => {
      latest = next;
    };
    render(
      <LogText
        first={text}
        read={read}
        grows={more}
        onRead={onRead}
        trans={trans}
      />
    );
  };

  const output = (): string | null =>
    screen.getByLabelText('Output').textContent;
  const turn = (): Promise<void> =>
    act(() => jest.advanceTimersByTimeAsync(FOLLOW_INTERVAL));

  beforeEach(() => {
    jest.useFakeTimers();
    setVisibility('visible');
    text = 'one';
    reads = 0;
    grows = true;
    latest = '';
  });

  afterEach(() => {
    cleanup();
    jest.useRealTimers();
    setVisibility('visible');
  });

  it('follows a live run to its last word', async () => {
    show();
    expect(screen.queryByRole('button')).toBeNull();
    text = 'one two';
    await turn();
    expect(output()).toBe('one two');
    expect(latest).toBe('one two');
    grows = false;
    text = 'one two three';
    await turn();
    expect(output()).toBe('one two three');
    expect(screen.getByRole('button', { name: 'Read again' })).toBeTruthy();
    await turn();
    expect(reads).toBe(2);
  });

  it('asks nothing while nobody can see it, nor when it is closed', async () => {
    show();
    setVisibility('hidden');
    await turn();
    expect(reads).toBe(0);
    setVisibility('visible');
    await turn();
    expect(reads).toBe(1);
    cleanup();
    await turn();
    expect(reads).toBe(1);
  });

  it('leaves who scrolled back where they are', async () => {
    show();
    const pre = screen.getByLabelText('Output');
    Object.defineProperty(pre, 'scrollHeight', { value: 500 });
    Object.defineProperty(pre, 'clientHeight', { value: 100 });
    text = 'one two';
    await turn();
    expect(pre.scrollTop).toBe(500);
    pre.scrollTop = 50;
    pre.dispatchEvent(new Event('scroll', { bubbles: true }));
    text = 'one two three';
    await turn();
    expect(pre.scrollTop).toBe(50);
  });

  it('reads an output that is over when asked', async () => {
    grows = false;
    show();
    await turn();
    expect(reads).toBe(0);
    text = 'more';
    fireEvent.click(screen.getByRole('button', { name: 'Read again' }));
    await turn();
    expect(output()).toBe('more');
  });
});
