import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { RequestError } from '../request';
import { Button } from './Button';

/** The time between two reads of an output that still grows, in ms. */
export const FOLLOW_INTERVAL = 2000;

/** How close to its end a text counts as being read at its end, in px. */
const NEAR_END = 24;

export interface ILogTextProps {
  first: string;
  read: () => Promise<string>;

  /** Whether more may be written. */
  grows: () => boolean;
  onRead: (text: string) => void;
  trans: TranslationBundle;
}

/** An output, scrolled to its end. It follows what is written; over, it can be read again. */
export function LogText(props: ILogTextProps): React.JSX.Element {
  const { trans, read, grows, onRead } = props;
  const [text, setText] = React.useState(props.first);
  const [problem, setProblem] = React.useState('');
  const [following, setFollowing] = React.useState(grows);
  const output = React.useRef<HTMLPreElement>(null);
  // Who scrolled back to read something is left there.
  const atEnd = React.useRef(true);
  const toEnd = React.useCallback(() => {
    if (output.current && atEnd.current) {
      output.current.scrollTop = output.current.scrollHeight;
    }
  }, []);
  React.useEffect(toEnd, [toEnd, text]);
  React.useEffect(() => {
    // The dialog gets its size after this is drawn, and a person may change it.
    const observer = new ResizeObserver(toEnd);
    if (output.current) {
      observer.observe(output.current);
    }
    return () => observer.disconnect();
  }, [toEnd]);
  const readAgain = React.useCallback(async (): Promise<void> => {
    try {
      const next = await read();
      onRead(next);
      setText(next);
      setProblem('');
    } catch (error) {
      setProblem(RequestError.from(error).message);
    }
  }, [read, onRead]);
  React.useEffect(() => {
    if (!following) {
      return;
    }
    let timer = 0;
    const follow = async (): Promise<void> => {
      // Asked before the read: what was written last is read once more.
      const more = grows();
      if (document.visibilityState !== 'hidden') {
        await readAgain();
      }
      if (!more) {
        setFollowing(false);
      } else if (timer !== -1) {
        timer = window.setTimeout(() => void follow(), FOLLOW_INTERVAL);
      }
    };
    timer = window.setTimeout(() => void follow(), FOLLOW_INTERVAL);
    return () => {
      window.clearTimeout(timer);
      timer = -1;
    };
  }, [following, grows, readAgain]);
  return (
    <div className="jp-ElasticLog">
      <pre
        ref={output}
        tabIndex={0}
        aria-label={trans.__('Output')}
        onScroll={event => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
        }}
      >
        {text === '' ? trans.__('No output yet.') : text}
      </pre>
      {problem !== '' && <p role="alert">{problem}</p>}
      {following ? (
        <p className="jp-ElasticNote">{trans.__('Follows what is written.')}</p>
      ) : (
        <div>
          <Button onClick={() => void readAgain()}>
            {trans.__('Read again')}
          </Button>
        </div>
      )}
    </div>
  );
}
