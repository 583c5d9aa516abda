import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKey } from './api.ts';
import { Dialog } from './dialog.tsx';
import { Problem } from './parts.tsx';
import { useDashboard } from './state.ts';

export type KeyDialogState = { readonly kind: 'create' } | { readonly kind: 'change'; readonly key: ApiKey };

/** What the person entered. */
interface Entered {
  readonly user: string;
  readonly id: string;
  readonly scopes: string;
  /** A time of this browser, as `<input type="datetime-local">` has it; empty for none. */
  readonly expires: string;
  readonly isAdmin: boolean;
}

/** Makes a key, which it shows once, or changes one. */
export function KeyDialog({
  state,
  close,
  changed,
}: {
  readonly state: KeyDialogState;
  readonly close: () => void;
  /** Called after a change. */
  readonly changed: () => void;
}): JSX.Element {
  const { api } = useDashboard();
  const key = state.kind === 'change' ? state.key : undefined;
  const [entered, setEntered] = useState<Entered>(enteredOf(key));
  const [made, setMade] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      if (key) {
        await api.changeKey(key.key_id, rightsOf(entered));
        close();
      } else {
        const { user, id } = entered;
        const named = { user_id: user, ...(id !== '' && { key_id: id }) };
        setMade((await api.createKey({ ...named, ...rightsOf(entered) })).api_key);
      }
      changed();
    } catch (error) {
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  if (made !== undefined)
    return (
      <Dialog title="The key" close={close}>
        <p>This is the only time that the key is shown. Give it to its user now.</p>
        <code class="secret">{made}</code>
        <div class="actions">
          <button type="button" onClick={() => void navigator.clipboard.writeText(made)}>
            Copy
          </button>
          <button type="button" autofocus onClick={close}>
            Done
          </button>
        </div>
      </Dialog>
    );
  const field = (name: 'user' | 'id', label: string, hint: string, isFirst = false): JSX.Element => (
    <label class="stacked">
      {label}
      <input
        type="text"
        autocomplete="off"
        autofocus={isFirst}
        value={entered[name]}
        placeholder={hint}
        onInput={({ currentTarget }) => setEntered({ ...entered, [name]: currentTarget.value.trim() })}
      />
    </label>
  );
  return (
    <Dialog title={key ? `Change the key ${key.key_id}` : 'Create a key'} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {!key && field('user', 'User', 'owner of the tasks and webhooks of the key', true)}
        {!key && field('id', 'Name of the key', 'a random name')}
        <label class="stacked">
          Scopes
          <input
            type="text"
            autocomplete="off"
            autofocus={key !== undefined}
            value={entered.scopes}
            placeholder="all; or: endpoints tasks /a/path"
            onInput={({ currentTarget }) => setEntered({ ...entered, scopes: currentTarget.value })}
          />
        </label>
        <label class="stacked">
          Expires
          <input
            type="datetime-local"
            value={entered.expires}
            onInput={({ currentTarget }) => setEntered({ ...entered, expires: currentTarget.value })}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={entered.isAdmin}
            onChange={({ currentTarget }) => setEntered({ ...entered, isAdmin: currentTarget.checked })}
          />{' '}
          Admin: may create keys, and see and change the application
        </label>
        <Problem text={problem} />
        <div class="actions">
          <button type="submit" disabled={isBusy}>
            {key ? 'Save' : 'Create'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function enteredOf(key: ApiKey | undefined): Entered {
  return {
    user: '',
    id: '',
    scopes: key?.scopes?.join(' ') ?? '',
    expires: key?.expired_at ? localTime(new Date(key.expired_at)) : '',
    isAdmin: key?.is_admin ?? false,
  };
}

function rightsOf({ scopes, expires, isAdmin }: Entered): {
  readonly scopes: readonly string[] | null;
  readonly expired_at: string | null;
  readonly is_admin: boolean;
} {
  const words = scopes.split(/[\s,]+/).filter((word) => word !== '');
  return {
    scopes: words.length === 0 ? null : words,
    expired_at: expires === '' ? null : new Date(expires).toISOString(),
    is_admin: isAdmin,
  };
}

/** Returns a time as `<input type="datetime-local">` has it. */
function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
