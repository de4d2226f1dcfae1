import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import { RequestError } from '../request';
import { Button } from './Button';

export interface ILogTextProps {
  first: string;
  read: () => Promise<string>;
  onRead: (text: string) => void;
  trans: TranslationBundle;
}

/** An output, scrolled to its end, with a button that reads it again. */
export function LogText(props: ILogTextProps): React.JSX.Element {
  const { trans, read, onRead } = props;
  const [text, setText] = React.useState(props.first);
  const [problem, setProblem] = React.useState('');
  const end = React.useRef<HTMLPreElement>(null);
  React.useEffect(() => {
    if (end.current) {
      end.current.scrollTop = end.current.scrollHeight;
    }
  }, [text]);
  const readAgain = async (): Promise<void> => {
    try {
      const next = await read();
      onRead(next);
      setText(next);
      setProblem('');
    } catch (error) {
      setProblem(RequestError.from(error).message);
    }
  };
  return (
    <div className="jp-ElasticLog">
      <pre ref={end} tabIndex={0} aria-label={trans.__('Output')}>
        {text === '' ? trans.__('No output yet.') : text}
      </pre>
      {problem !== '' && <p role="alert">{problem}</p>}
      <Button onClick={() => void readAgain()}>{trans.__('Read again')}</Button>
    </div>
  );
}
