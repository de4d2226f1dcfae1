import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';
import type { IOptions } from '../api';
import type { Problems } from '../createdraft';
import { chosenEngine, chosenFramework, withEngine } from '../createdraft';
import { formatPath, parseWhole } from '../format';
import type { ScriptSource } from '../scripts';
import type { ICreateDraft } from '../tokens';
import { FormField } from './FormField';
import { SelectField } from './SelectField';

export interface ICreateFieldsProps {
  options: IOptions;
  draft: ICreateDraft;
  problems: Problems;
  onChange: (draft: ICreateDraft) => void;
  trans: TranslationBundle;
}

/** Where, with what, under which name, how many, which script. */
export function CreateBasics(
  props: ICreateFieldsProps & { scripts: ScriptSource }
): React.JSX.Element {
  const { options, draft, problems, onChange, trans } = props;
  const first = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => {
    first.current?.focus();
    first.current?.select();
  }, []);
  const engine = chosenEngine(options, draft);
  const framework = chosenFramework(options, draft);
  const root = options.root_folder;
  const example =
    options.example === null ? [] : [formatPath(options.example, root)];
  return (
    <>
      <FormField
        ref={first}
        label={trans.__('Name')}
        value={draft.name}
        problem={problems.name}
        onChange={name => onChange({ ...draft, name })}
      />
      {options.engines.length > 1 && (
        <SelectField
          label={trans.__('Where')}
          value={engine?.name ?? ''}
          problem={problems.engine}
          options={options.engines.map(item => ({
            value: item.name,
            label: item.title
          }))}
          onChange={name => onChange(withEngine(options, draft, name))}
        />
      )}
      <SelectField
        label={trans.__('Framework')}
        value={draft.framework}
        problem={
          problems.framework ??
          (framework?.available === false ? framework.reason : undefined)
        }
        options={options.frameworks.map(item => ({
          value: item.name,
          label: item.title
        }))}
        onChange={name => onChange({ ...draft, framework: name })}
      />
      <FormField
        label={trans.__('Containers')}
        type="number"
        min={options.min_size}
        max={engine?.max_size}
        value={draft.size}
        problem={problems.size}
        problemDetail={engine?.capacity.detail}
        note={Private.sizeWords(draft.size, trans)}
        onChange={size => onChange({ ...draft, size })}
      />
      <FormField
        label={trans.__('Script')}
        value={formatPath(draft.script, root)}
        title={draft.script}
        problem={problems.script}
        placeholder={trans.__('can be chosen later')}
        suggestions={[...new Set([...props.scripts(), ...example])]}
        onChange={script => onChange({ ...draft, script })}
      />
    </>
  );
}

namespace Private {
  /** "1 launcher + 3 workers". */
  export function sizeWords(text: string, trans: TranslationBundle): string {
    const size = parseWhole(text);
    if (size === null || size < 1) {
      return '';
    }
    return size === 1
      ? trans.__('1 launcher')
      : trans._n('1 launcher + %1 worker', '1 launcher + %1 workers', size - 1);
  }
}
