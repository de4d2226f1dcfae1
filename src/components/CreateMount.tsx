import * as React from 'react';
import type { ICreateFieldsProps } from './CreateBasics';

/** Where containers see a claim, and whether they may write. */
export function CreateMount(
  props: ICreateFieldsProps & { claim: string }
): React.JSX.Element {
  const { claim, draft, onChange, trans } = props;
  const readOnly = draft.readOnly.includes(claim);
  return (
    <div className="jp-ElasticRow">
      <input
        className="jp-ElasticInput"
        aria-label={trans.__('Mount path of %1', claim)}
        placeholder={`/mnt/${claim}`}
        spellCheck={false}
        autoComplete="off"
        value={draft.storagePaths[claim] ?? ''}
        onChange={event => {
          const storagePaths = { ...draft.storagePaths };
          storagePaths[claim] = event.target.value;
          onChange({ ...draft, storagePaths });
        }}
      />
      <label className="jp-ElasticCheck">
        <input
          type="checkbox"
          aria-label={trans.__('%1 read-only', claim)}
          checked={readOnly}
          onChange={() =>
            onChange({
              ...draft,
              readOnly: readOnly
                ? draft.readOnly.filter(name => name !== claim)
                : [...draft.readOnly, claim]
            })
          }
        />
        {trans.__('read-only')}
      </label>
    </div>
  );
}
