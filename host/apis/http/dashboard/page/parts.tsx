import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

export type Tone = 'good' | 'busy' | 'bad' | 'quiet';

/** A state as a word with a colour. The word alone says it too. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const TONES: Readonly<Record<string, Tone>> = {
  ...{ RUNNING: 'good', ready: 'good', running: 'good', completed: 'good', active: 'good' },
  ...{
    DEPLOYING: 'busy',
    UPDATING: 'busy',
    starting: 'busy',
    draining: 'busy',
    not_finished: 'busy',
    assigned: 'busy',
  },
  ...{ delivered: 'good', enabled: 'good', pending: 'busy', created: 'busy', lost: 'bad' },
  ...{ DEPLOY_FAILED: 'bad', UNHEALTHY: 'bad', failed: 'bad', exited: 'bad', disabled: 'bad', expired: 'bad' },
};

export function StateBadge({ state }: { readonly state: string }): JSX.Element {
  return <Badge tone={TONES[state] ?? 'quiet'}>{state.toLowerCase().replaceAll('_', ' ')}</Badge>;
}

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether the cells are numbers, which are aligned on the right. */
  readonly isNumber?: boolean;
}

/** A table that scrolls by itself where the window is narrow. `empty` is shown where there are no rows. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  empty,
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly empty: string;
}): JSX.Element {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" class={isNumber ? 'number' : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell, isNumber }) => (
                <td key={head} class={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * A button that runs an action, shows that it runs, and shows its error. With `confirm`, the button asks this question
 * at the first click, and runs the action at the second one.
 */
export function ActionButton({
  label,
  confirm,
  run,
  done,
}: {
  readonly label: string;
  readonly confirm?: string | undefined;
  readonly run: () => Promise<unknown>;
  /** Called after the action succeeded. */
  readonly done?: () => void;
}): JSX.Element {
  const [state, setState] = useState<{ readonly isBusy?: true; readonly asks?: true; readonly error?: string }>({});
  const onClick = async (): Promise<void> => {
    if (confirm !== undefined && !state.asks) return setState({ asks: true });
    setState({ isBusy: true });
    try {
      await run();
      setState({});
      done?.();
    } catch (error) {
      setState({ error: (error as Error).message });
    }
  };
  return (
    <>
      <button
        type="button"
        class={state.asks ? 'asks' : undefined}
        disabled={state.isBusy}
        aria-busy={state.isBusy}
        onClick={() => void onClick()}
        onBlur={() => state.asks && setState({})}
      >
        {state.asks ? confirm : label}
      </button>
      <Problem text={state.error} />
    </>
  );
}

/** A message about something that failed. Screen readers announce it. */
export function Problem({ text }: { readonly text: string | undefined }): JSX.Element {
  return (
    <span class="problem" role="alert">
      {text}
    </span>
  );
}

/** Facts with their names. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="about">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The buttons of a list that is read page by page. */
export function Pager({
  page,
  hasMore,
  go,
}: {
  readonly page: number;
  readonly hasMore: boolean;
  readonly go: (page: number) => void;
}): JSX.Element | null {
  if (page === 1 && !hasMore) return null;
  return (
    <div class="actions">
      <button type="button" disabled={page === 1} onClick={() => go(page - 1)}>
        Newer
      </button>
      <span class="quiet">page {page}</span>
      <button type="button" disabled={!hasMore} onClick={() => go(page + 1)}>
        Older
      </button>
    </div>
  );
}

/** A choice of one of several words. The empty word means all. */
export function Choice({
  label,
  value,
  words,
  all = 'all',
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly words: readonly string[];
  /** The text for the empty word. */
  readonly all?: string;
  readonly onChange: (word: string) => void;
}): JSX.Element {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">{all}</option>
        {words.map((word) => (
          <option key={word} value={word}>
            {word.replaceAll('_', ' ')}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section>
      <div class="head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
