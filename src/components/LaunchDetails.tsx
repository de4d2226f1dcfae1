import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IClusterSettings, IOptions, ReleasePolicy } from '../api';
import { parseWhole } from '../format';
import { PassEnv } from './PassEnv';
import { SelectField } from './SelectField';
import { TextField } from './TextField';

export interface ILaunchDetailsProps {
  settings: IClusterSettings;

  /** The largest size there can be now. */
  limit: number;
  options: IOptions | null;
  disabled: boolean;

  /** What the server said about the range. */
  refused?: string;
  onChange: (patch: Partial<IClusterSettings>) => void;
  trans: TranslationBundle;
}

/** What is rarely changed: the range of an elastic run, variables, what follows its end. */
export function LaunchDetails(props: ILaunchDetailsProps): React.JSX.Element {
  const { settings, disabled, onChange, trans } = props;
  const [problem, setProblem] = React.useState('');
  const change = (key: 'min_size' | 'max_size', text: string): void => {
    const size = parseWhole(text);
    const unset = key === 'max_size' && text.trim() === '';
    if (!unset && (size === null || size < 1)) {
      setProblem(trans.__('A whole number from 1 on.'));
      return;
    }
    setProblem('');
    onChange({ [key]: unset ? null : size });
  };
  return (
    <details className="jp-ElasticDetails">
      <summary>{trans.__('More')}</summary>
      <TextField
        label={trans.__('Smallest size of an elastic run')}
        value={String(settings.min_size)}
        disabled={disabled}
        problem={problem || props.refused}
        onCommit={text => change('min_size', text)}
      />
      <TextField
        label={trans.__('Largest size of an elastic run')}
        value={settings.max_size === null ? '' : String(settings.max_size)}
        placeholder={trans.__('what there is (%1)', props.limit)}
        disabled={disabled}
        onCommit={text => change('max_size', text)}
      />
      <PassEnv
        names={settings.pass_env}
        passable={props.options?.passable_env ?? []}
        disabled={disabled}
        onChange={names => onChange({ pass_env: names })}
        trans={trans}
      />
      <SelectField
        label={trans.__('When a run ends')}
        value={settings.release_policy}
        options={[
          { value: 'ask', label: trans.__('ask') },
          { value: 'release', label: trans.__('release the cluster') },
          { value: 'keep', label: trans.__('keep the cluster') }
        ]}
        disabled={disabled}
        onChange={policy =>
          onChange({ release_policy: policy as ReleasePolicy })
        }
      />
    </details>
  );
}
