import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ApplyDialog, RollbackDialog } from '../apply.tsx';
import { Problem, Table } from '../parts.tsx';
import { useDashboard, useLoaded } from '../state.ts';

export function ConfigurationPage(): JSX.Element {
  const { api } = useDashboard();
  const [withDefaults, setWithDefaults] = useState(false);
  const [text, setText] = useState('');
  const [dialog, setDialog] = useState<'apply' | 'rollback'>();
  const { value, error } = useLoaded('configuration', '', () => api.configuration());
  const close = (): void => setDialog(undefined);
  return (
    <>
      <div class="actions">
        <button type="button" onClick={() => setDialog('apply')}>
          Apply a configuration
        </button>
        <button type="button" onClick={() => setDialog('rollback')}>
          Go back to the one before
        </button>
        <label>
          Key{' '}
          <input
            type="search"
            value={text}
            placeholder="part of its name"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={withDefaults}
            onChange={({ currentTarget }) => setWithDefaults(currentTarget.checked)}
          />{' '}
          Also defaults
        </label>
      </div>
      {dialog === 'apply' && <ApplyDialog close={close} />}
      {dialog === 'rollback' && <RollbackDialog close={close} />}
      <Problem text={error} />
      {value && (
        <Table
          label="Configuration"
          rows={value.values.filter(
            ({ key, origin }) => (withDefaults || origin !== 'default') && key.includes(text.trim()),
          )}
          keyOf={({ key }) => key}
          empty={text === '' ? 'Every value is a default.' : 'No key has this in its name.'}
          columns={[
            { head: 'Key', cell: ({ key }) => <code>{key}</code> },
            { head: 'Value', cell: (one) => <code class="value">{JSON.stringify(one.value)}</code> },
            { head: 'From', cell: ({ origin }) => origin },
          ]}
        />
      )}
    </>
  );
}
