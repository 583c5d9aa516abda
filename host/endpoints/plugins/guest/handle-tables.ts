/**
 * Maximum number of handles of one instance. Its table of handles lies in the heap of the thread, which ends the host
 * when it is full. The host counts handles of its own resources by the limit `handles`.
 */
export const maxHandles = 10_000;

/** The handles of one type of resource: pairs of numbers, as the glue writes them. */
type HandleTable = number[] & { _createdReps?: Set<number> };
interface SavedTable {
  readonly entries: readonly number[];
  readonly created: readonly number[];
}

/** The tables of handles of one instance. The glue calls it. */
export class HandleTables {
  /** By the number of the type of resource. */
  readonly tables: HandleTable[] = [];
  /** The objects of the host for handles. */
  readonly #captures: Map<number, unknown>[] = [];
  #count = 0;
  #saved:
    | {
        readonly count: number;
        readonly tables: readonly SavedTable[];
        readonly captures: readonly (readonly [number, unknown])[][];
      }
    | undefined;

  newCaptures(): Map<number, unknown> {
    const captures = new Map<number, unknown>();
    this.#captures.push(captures);
    return captures;
  }

  /** Counts a new entry of a table. Throws when there are too many, and the guest traps. */
  take(): void {
    if (++this.#count > maxHandles) throw new RangeError(`it has more than ${maxHandles} handles`);
  }

  /** Keeps the handles that the instance has now, for {@link restore}. */
  save(): void {
    this.#saved = {
      count: this.#count,
      tables: this.tables.map((table) => ({ entries: [...table], created: [...(table._createdReps ?? [])] })),
      captures: this.#captures.map((captures) => [...captures]),
    };
  }

  /** Puts back the handles of {@link save}, so that no number of one invocation is left for the next one. */
  restore(): void {
    if (!this.#saved) return;
    const { count, tables, captures } = this.#saved;
    this.#count = count;
    this.tables.forEach((table, n) => {
      const saved = tables[n];
      if (!saved) return void delete this.tables[n]; // the glue creates it again when it is needed
      table.splice(0, table.length, ...saved.entries);
      if (table._createdReps) table._createdReps = new Set(saved.created);
    });
    this.#captures.forEach((objects, n) => {
      objects.clear();
      for (const [rep, object] of captures[n] ?? []) objects.set(rep, object);
    });
  }
}
