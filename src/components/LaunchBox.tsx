import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { ICluster } from '../api';
import { formatPath } from '../format';
import type { ScriptSource } from '../scripts';
import type { IElasticActions, IElasticModel } from '../tokens';
import { joinWords, splitWords } from '../words';
import { Button } from './Button';
import { LaunchCommand } from './LaunchCommand';
import { LaunchDetails } from './LaunchDetails';
import { SelectField } from './SelectField';
import { TextField } from './TextField';
import { useChanges } from './useChanges';

export interface ILaunchBoxProps {
  model: IElasticModel;
  actions: IElasticActions;
  cluster: ICluster;
  scripts: ScriptSource;
  trans: TranslationBundle;
}

/** What to train with, kept per cluster by the server; below it the command that follows from it. */
export function LaunchBox(props: ILaunchBoxProps): React.JSX.Element {
  const { model, actions, cluster, trans } = props;
  const { settings, refused, change } = useChanges(model, actions, cluster);
  const [problem, setProblem] = React.useState('');
  const over = cluster.state === 'releasing' || cluster.state === 'ended';
  const found = props.scripts();
  const example = model.options?.example;
  const root = model.options?.root_folder ?? '';
  const known = example ? [formatPath(example, root)] : [];
  const suggestions = [...new Set([...found, ...known])];
  const offered = found.find(path => !Private.same(settings.script, path));
  const changeArguments = (text: string): void => {
    try {
      change({ arguments: splitWords(text) });
      setProblem('');
    } catch {
      setProblem(trans.__('A quote is not closed.'));
    }
  };
  const frameworks = model.options?.frameworks ?? [];
  const pair = Private.otherMode(settings.framework);
  const canSwitch = frameworks.some(item => item.name === pair);
  return (
    <div className="jp-ElasticLaunch" data-lm-suppress-shortcuts="true">
      <TextField
        label={trans.__('Script')}
        value={formatPath(settings.script ?? '', root)}
        title={settings.script ?? ''}
        placeholder={trans.__('path of a Python script')}
        suggestions={suggestions}
        disabled={over}
        problem={refused.script}
        onCommit={text => change({ script: text.trim() || null })}
      />
      {offered !== undefined && (
        <Button
          className="jp-ElasticLaunch-offer"
          title={offered}
          disabled={over}
          onClick={() => change({ script: offered })}
        >
          {trans.__('Use %1', offered.split('/').pop() ?? offered)}
        </Button>
      )}
      <TextField
        label={trans.__('Arguments')}
        value={joinWords(settings.arguments)}
        placeholder={trans.__('e.g. --epochs 3')}
        disabled={over}
        problem={problem || refused.arguments}
        onCommit={changeArguments}
      />
      <SelectField
        label={trans.__('Python')}
        value={settings.kernelspec ?? ''}
        options={Private.kernels(model, settings.kernelspec, trans)}
        disabled={over}
        onChange={name => change({ kernelspec: name || null })}
      />
      {canSwitch && (
        <label className="jp-ElasticCheck">
          <input
            type="checkbox"
            checked={settings.framework.endsWith('-elastic')}
            disabled={over}
            onChange={() => change({ framework: pair })}
          />
          {trans.__('Grows and shrinks while it runs')}
        </label>
      )}
      <LaunchCommand
        model={model}
        actions={actions}
        cluster={cluster}
        trans={trans}
      />
      <LaunchDetails
        settings={settings}
        limit={cluster.limit.size}
        options={model.options}
        refused={refused.min_size ?? refused.max_size}
        disabled={over}
        onChange={change}
        trans={trans}
      />
    </div>
  );
}

namespace Private {
  /** The same framework with the other way to take a change of size. */
  export function otherMode(framework: string): string {
    return framework.endsWith('-elastic')
      ? framework.slice(0, -'-elastic'.length)
      : `${framework}-elastic`;
  }

  /** Whether the server's path is this one: it may be absolute where ours starts at the root folder. */
  export function same(script: string | null, path: string): boolean {
    return script !== null && (script === path || script.endsWith(`/${path}`));
  }

  export function kernels(
    model: IElasticModel,
    chosen: string | null,
    trans: TranslationBundle
  ): { value: string; label: string }[] {
    const { kernels = [], default_kernel: name = null } = model.options ?? {};
    const known = kernels.map(kernel => ({
      value: kernel.name,
      label: kernel.title
    }));
    const title = kernels.find(kernel => kernel.name === name)?.title;
    const first = {
      value: '',
      label: title
        ? trans.__('default (%1)', title)
        : trans.__("the server's own")
    };
    const lost =
      chosen !== null && !kernels.some(kernel => kernel.name === chosen)
        ? [{ value: chosen, label: trans.__('%1 (not found)', chosen) }]
        : [];
    return [first, ...known, ...lost];
  }
}
