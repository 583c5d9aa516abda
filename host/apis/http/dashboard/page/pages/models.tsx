import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Model, PullEvent } from '../api.ts';
import { bytes, count } from '../format.ts';
import { ActionButton, Badge, Problem, Table } from '../parts.tsx';
import { useDashboard, useLoaded } from '../state.ts';

/** What the pulls of this page have said, by the ids of their models. The list of the server is older. */
type Pulls = Readonly<Record<string, PullEvent>>;

export function ModelsPage(): JSX.Element {
  const { api } = useDashboard();
  const [all, setAll] = useState(false);
  const [pulls, setPulls] = useState<Pulls>({});
  const { value, error, reload } = useLoaded('models', String(all), () => api.models({ all }));
  const pull = async (id: string): Promise<void> => {
    try {
      await api.pullModel(id, (event) => setPulls((now) => ({ ...now, [id]: event })));
    } finally {
      setPulls(({ [id]: _ended, ...others }) => others);
      reload();
    }
  };
  const actions = { pull, cancel: (id: string) => api.cancelPull(id), reload };
  return (
    <>
      <PullForm pull={pull} />
      <label>
        <input type="checkbox" checked={all} onChange={({ currentTarget }) => setAll(currentTarget.checked)} /> Show all
        variants
      </label>
      <Problem text={error} />
      {value && (
        <Table
          label="Models"
          rows={value.models}
          keyOf={({ id }) => id}
          empty="There are no models."
          columns={[
            { head: 'Model', cell: ({ id }) => <code>{id}</code> },
            { head: 'Size', isNumber: true, cell: ({ bytes: size }) => (size === null ? '–' : bytes(size)) },
            { head: 'Here', cell: (model) => <Here model={model} pull={pulls[model.id] ?? model.pull} /> },
            { head: 'Used by', cell: ({ used_by: users }) => users.join(', ') || '–' },
            { head: 'Licence', cell: ({ licence }) => licence },
            { head: 'Action', cell: (model) => <Actions model={model} pulls={pulls} {...actions} /> },
          ]}
        />
      )}
    </>
  );
}

/** Pulls a model that the list does not have, such as one of the hub. */
function PullForm({ pull }: { readonly pull: (id: string) => Promise<void> }): JSX.Element {
  const [id, setId] = useState('');
  return (
    <div class="actions">
      <label>
        Model{' '}
        <input
          type="text"
          value={id}
          placeholder="owner/repo/file.gguf"
          onInput={({ currentTarget }) => setId(currentTarget.value)}
        />
      </label>
      <ActionButton label="Pull" run={() => pull(id.trim())} done={() => setId('')} />
    </div>
  );
}

function Here({ model, pull }: { readonly model: Model; readonly pull: PullEvent | null }): JSX.Element {
  if (pull?.state === 'pulling') return <Progress id={model.id} pull={pull} />;
  if (model.state === 'present') return <Badge tone="good">here</Badge>;
  return (
    <>
      {model.state === 'damaged' ? <Badge tone="bad">damaged</Badge> : <Badge tone="quiet">not here</Badge>}
      {pull?.state === 'failed' && <span class="quiet"> {pull.text}</span>}
    </>
  );
}

function Progress({ id, pull }: { readonly id: string; readonly pull: PullEvent }): JSX.Element {
  const { text, bytes: done, total_bytes: total } = pull;
  const part = total !== null && { value: Math.min(done, total), max: total };
  return (
    <>
      <progress aria-label={`Pull of ${id}`} {...part} />{' '}
      <span class="quiet">
        {text}
        {total === null ? '' : `, ${bytes(Math.min(done, total))} of ${bytes(total)}`}
      </span>
    </>
  );
}

function Actions({
  model,
  pulls,
  pull,
  cancel,
  reload,
}: {
  readonly model: Model;
  readonly pulls: Pulls;
  readonly pull: (id: string) => Promise<void>;
  readonly cancel: (id: string) => Promise<unknown>;
  readonly reload: () => void;
}): JSX.Element {
  const { api } = useDashboard();
  const { id, state, used_by: users } = model;
  const isPulling = (pulls[id] ?? model.pull)?.state === 'pulling';
  if (isPulling) return <ActionButton key="cancel" label="Cancel" run={() => cancel(id)} done={reload} />;
  if (state === 'absent') return <ActionButton key="pull" label="Pull" run={() => pull(id)} />;
  const question =
    users.length === 0 ? 'Delete its files?' : `${count(users.length, 'deployment')} will fail to restart. Delete?`;
  return (
    <ActionButton
      key="delete"
      label="Delete"
      confirm={question}
      run={() => api.deleteModel(id, users.length > 0)}
      done={reload}
    />
  );
}
