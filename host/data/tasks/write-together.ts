import { mayBeCommitted, type Repositories, type Storage } from '../storage/index.ts';

type Work<T> = (repositories: Repositories) => Promise<T>;

interface Waiting {
  readonly work: Work<unknown>;
  readonly traceparent: string | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Most writes in one transaction, because other writes wait while it runs. */
const MOST = 64;

/**
 * Lets writes that arrive during another write share the next transaction, because each commit waits for the disk. A
 * write resolves when its transaction is committed, as with {@link Storage.write}. When one of the writes fails, each
 * is run again in a transaction of its own. When the commit is unknown, all of them reject with that error.
 */
export class WriteTogether {
  readonly #storage: Pick<Storage, 'write'>;
  readonly #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(storage: Pick<Storage, 'write'>) {
    this.#storage = storage;
  }

  /** `traceparent` is the place in the trace that the write is done for. */
  write<T>(work: Work<T>, traceparent?: string): Promise<T> {
    const done = new Promise<unknown>((resolve, reject) => this.#waiting.push({ work, traceparent, resolve, reject }));
    if (!this.#isWriting) void this.#writeAll();
    return done as Promise<T>;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) await this.#writeGroup(this.#waiting.splice(0, MOST));
    this.#isWriting = false;
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    if (group.length > 1) {
      try {
        const results = await this.#storage.write(
          (repositories) => Promise.all(group.map(({ work }) => work(repositories))),
          { inTraces: group.map(({ traceparent }) => traceparent) },
        );
        for (const [index, { resolve }] of group.entries()) resolve(results[index]);
        return;
      } catch (error) {
        if (mayBeCommitted(error)) {
          for (const { reject } of group) reject(error); // no write failed; each caller searches for its own effect
          return;
        }
        // Each write alone shows which one failed.
      }
    }
    await Promise.all(
      group.map(({ work, traceparent, resolve, reject }) =>
        this.#storage.write(work, { inTraces: [traceparent] }).then(resolve, reject),
      ),
    );
  }
}
