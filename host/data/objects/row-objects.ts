import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { toErrorRecord } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Storage } from '../storage/index.ts';
import { type LocalCopy, LostObject, type ObjectStore, type StoredObject, type Written } from './object-store.ts';

/**
 * A younger object may belong to a row that is not stored yet. Also a clock that is wrong by hours, and an upload that
 * takes hours, must not cost an object.
 */
const GRACE_MS = 86_400_000;
/** A store may be asked for money, so it is not listed often, and by one host of all. */
const SWEEP_EVERY_MS = 3_600_000;
/** How often a host looks whether it is time. */
const LOOK_EVERY_MS = 600_000;

export interface RowObjectsOptions {
  readonly store: ObjectStore;
  /** Decides which host sweeps. */
  readonly storage: Pick<Storage, 'write'>;
  /** The folder of these objects in the store. */
  readonly folder: string;
  /** Matches the name of an object, below the folder; the group is the id of the row that needs it. */
  readonly names: RegExp;
  /** Returns whether the row exists and needs its objects. */
  readonly isNeeded: (id: string) => Promise<boolean>;
  readonly log: Logger;
}

/** An object by its name below the folder. */
export interface NamedObject extends Omit<StoredObject, 'key'> {
  readonly name: string;
}

/**
 * The objects of rows of one kind. They are written before the row that names them and removed after it; what a killed
 * host leaves in between is removed a day later.
 */
export class RowObjects {
  readonly #options: RowObjectsOptions;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RowObjectsOptions) {
    this.#options = options;
  }

  /** The folder below which {@link fetch} has its copies. */
  get localRoot(): string {
    return this.#options.store.localRoot(this.#options.folder);
  }

  /** Takes a file, which is then gone. */
  put(object: NamedObject, from: string): Promise<void> {
    return this.#options.store.put(this.#keyed(object), from);
  }

  write(name: string, chunks: AsyncIterable<string | Buffer>): Promise<Written> {
    return this.#options.store.write(this.#keyOf(name), chunks);
  }

  /** Throws `LostObject`. */
  fetch(object: NamedObject, signal?: AbortSignal): Promise<LocalCopy> {
    return this.#options.store.fetch(this.#keyed(object), signal);
  }

  /** Returns the bytes of an object, which can be read to the end also if it is removed. Throws `LostObject`. */
  async open(object: NamedObject, signal?: AbortSignal): Promise<Readable> {
    const copy = await this.fetch(object, signal);
    try {
      const file = await open(copy.path, 'r');
      return file.createReadStream().once('close', () => void copy[Symbol.asyncDispose]());
    } catch (error) {
      await copy[Symbol.asyncDispose]();
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new LostObject('it was removed', { cause: error });
    }
  }

  /** Removes objects whose row is gone or was never stored. If the store is away, a later sweep removes them. */
  async discard(names: readonly string[]): Promise<void> {
    const { store, log } = this.#options;
    for (const name of names)
      try {
        await store.remove(this.#keyOf(name));
      } catch (error) {
        log.warn('a file whose row is gone is removed later', { file: this.#keyOf(name), error });
        if (toErrorRecord(error).kind === 'unavailable') return;
      }
  }

  /** Removes what killed hosts left, unless a host has done so in the last hour. */
  async sweep(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_EVERY_MS) return;
    const { store, storage, folder } = this.#options;
    const name = `${store.address}/${folder}`;
    const begunAt = await storage.write(({ sweeps }) => sweeps.claim(name, SWEEP_EVERY_MS));
    if (begunAt !== undefined)
      try {
        await this.#sweep(signal);
      } catch (error) {
        // Otherwise it is due again in an hour.
        await storage.write(({ sweeps }) => sweeps.release(name, begunAt)).catch(() => {});
        if (signal.aborted) return;
        throw error;
      }
    this.#lookedAt = performance.now();
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, folder, names, isNeeded } = this.#options;
    const before = Date.now() - GRACE_MS;
    await store.removeUnfinished(folder, before, signal);
    for await (const { key, modifiedAt } of store.list(folder, signal)) {
      signal.throwIfAborted();
      const [, id] = names.exec(key.slice(folder.length + 1)) ?? [];
      if (id !== undefined && modifiedAt < before && !(await isNeeded(id))) await store.remove(key);
    }
  }

  #keyed({ name, bytes, sha256 }: NamedObject): StoredObject {
    return { key: this.#keyOf(name), bytes, sha256 };
  }

  #keyOf(name: string): string {
    return `${this.#options.folder}/${name}`;
  }
}
