import * as React from 'react';
import type { ICreateFieldsProps } from './CreateBasics';
import { FormField } from './FormField';
import { RowsField } from './RowsField';

const EFFECTS = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** What only containers of a cluster have: cores, memory, environment, and where they may run. */
export function CreatePods(props: ICreateFieldsProps): React.JSX.Element {
  const { draft, problems, onChange, trans } = props;
  return (
    <>
      <FormField
        label={trans.__('CPU cores per container')}
        value={draft.cpu}
        problem={problems.cpu}
        onChange={cpu => onChange({ ...draft, cpu })}
      />
      <FormField
        label={trans.__('Memory per container, GiB')}
        value={draft.memory}
        problem={problems.memory}
        note={trans.__('Shared memory is a part of it.')}
        onChange={memory => onChange({ ...draft, memory })}
      />
      <RowsField
        label={trans.__('Environment')}
        columns={[
          { label: trans.__('name') },
          { label: trans.__('value'), masked: true }
        ]}
        rows={draft.env}
        problem={problems.env}
        onChange={env => onChange({ ...draft, env })}
        trans={trans}
      />
      <RowsField
        label={trans.__('Environment from Secrets')}
        columns={[
          { label: trans.__('name') },
          { label: trans.__('Secret') },
          { label: trans.__('key') }
        ]}
        rows={draft.secretEnv}
        problem={problems.secretEnv}
        onChange={secretEnv => onChange({ ...draft, secretEnv })}
        trans={trans}
      />
      <RowsField
        label={trans.__('Only nodes with these labels')}
        columns={[{ label: trans.__('label') }, { label: trans.__('value') }]}
        rows={draft.nodeSelector}
        problem={problems.nodeSelector}
        onChange={nodeSelector => onChange({ ...draft, nodeSelector })}
        trans={trans}
      />
      <RowsField
        label={trans.__('Tolerated taints')}
        columns={[
          { label: trans.__('key') },
          { label: trans.__('value') },
          { label: trans.__('any effect'), choices: EFFECTS }
        ]}
        rows={draft.tolerations}
        problem={problems.tolerations}
        note={trans.__('Without a value any value is tolerated.')}
        onChange={tolerations => onChange({ ...draft, tolerations })}
        trans={trans}
      />
    </>
  );
}
