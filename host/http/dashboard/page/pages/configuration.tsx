import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Problem, Table } from '../parts.tsx';
import { useDashboard, useLoaded } from '../state.ts';

export function ConfigurationPage(): JSX.Element {
  const { api } = useDashboard();
  const [withDefaults, setWithDefaults] = useState(false);
  const { value, error } = useLoaded('configuration', '', () => api.configuration());
  return (
    <>
      <div class="actions">
        <label>
          <input
            type="checkbox"
            checked={withDefaults}
            onChange={({ currentTarget }) => setWithDefaults(currentTarget.checked)}
          />{' '}
          Also defaults
        </label>
      </div>
      <Problem text={error} />
      {value && (
        <Table
          label="Configuration"
          rows={value.values.filter(({ origin }) => withDefaults || origin !== 'default')}
          keyOf={({ key }) => key}
          empty="Every value is a default."
          columns={[
            { head: 'Key', cell: ({ key }) => <code>{key}</code> },
            { head: 'Value', cell: (one) => <code>{JSON.stringify(one.value)}</code> },
            { head: 'From', cell: ({ origin }) => origin },
          ]}
        />
      )}
    </>
  );
}
