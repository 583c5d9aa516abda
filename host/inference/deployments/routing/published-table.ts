import { isDeepStrictEqual } from 'node:util';
import { Coalesced } from '../../../base/core/async/coalesced.ts';
import type { DeploymentFacts, DeploymentRoutes, TableChange } from './table.ts';

/** A deployment in the table. */
export interface TableEntry {
  readonly facts: DeploymentFacts;
  readonly routes: DeploymentRoutes;
}

/** The table of deployments that other hosts watch. It costs nothing while nobody does. */
export class PublishedTable {
  readonly #entries: () => ReadonlyMap<string, TableEntry>;
  readonly #watchers = new Set<Coalesced<TableChange>>();
  #revision = 0;
  #isDraining = false;

  /** `entries` returns the present table. */
  constructor(entries: () => ReadonlyMap<string, TableEntry>) {
    this.#entries = entries;
  }

  /** Called when the table may have changed. */
  touch(): void {
    this.#revision += 1;
    for (const watcher of this.#watchers) watcher.touch();
  }

  /** Lets attached processes begin no calls, or begin them again. */
  drain(isDraining: boolean): void {
    this.#isDraining = isDraining;
    this.touch();
  }

  /** Yields the whole table, and then its changes until the reader leaves or the signal aborts. */
  async *watch(signal: AbortSignal): AsyncGenerator<TableChange, void, undefined> {
    let known: ReadonlyMap<string, TableEntry> | undefined;
    let wasDraining = false;
    const watcher = new Coalesced((): TableChange | undefined => {
      const before = known ?? new Map<string, TableEntry>();
      const isFirst = known === undefined;
      known = this.#entries();
      const removed = [...before.keys()].filter((name) => !known?.has(name));
      const changed = [...known].flatMap(([name, entry]) => changeOf(name, before.get(name), entry) ?? []);
      const draining = this.#isDraining;
      const hasTurned = draining !== wasDraining;
      wasDraining = draining;
      const isSame = !isFirst && !hasTurned && removed.length === 0 && changed.length === 0;
      return isSame ? undefined : { revision: this.#revision, removed, changed, ...(hasTurned && { draining }) };
    });
    this.#watchers.add(watcher);
    const onAbort = (): void => watcher.end();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) watcher.end();
    watcher.touch();
    try {
      yield* watcher;
    } finally {
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', onAbort);
    }
  }
}

function changeOf(
  name: string,
  before: TableEntry | undefined,
  { facts, routes }: TableEntry,
): TableChange['changed'][number] | undefined {
  if (!before || !isDeepStrictEqual(before.facts, facts)) return { name, facts, routes };
  return isDeepStrictEqual(before.routes, routes) ? undefined : { name, routes };
}
