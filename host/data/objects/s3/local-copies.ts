import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { raceAbort } from '../../../base/core/abort.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import type { LocalCopy, StoredObject } from '../object-store.ts';

interface Copy {
  /** Resolves with the path when the copy is whole. */
  readonly whole: Promise<string>;
  readonly stop: AbortController;
  users: number;
}

export interface LocalCopiesOptions {
  /** Returns the folder of the copies, which must exist. */
  readonly folder: () => Promise<string>;
  /** Writes the checked bytes of an object to a new file. */
  readonly download: (object: StoredObject, path: string, signal: AbortSignal) => Promise<void>;
}

/** Copies of objects on this machine. Users at the same time share a copy; the last one removes it. */
export class LocalCopies {
  readonly #options: LocalCopiesOptions;
  readonly #copies = new Map<string, Copy>();

  constructor(options: LocalCopiesOptions) {
    this.#options = options;
  }

  async fetch(object: StoredObject, signal: AbortSignal | undefined): Promise<LocalCopy> {
    const id = JSON.stringify([object.key, object.bytes, object.sha256]);
    const copy = this.#copies.get(id) ?? this.#begin(id, object);
    copy.users += 1;
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      copy.users -= 1;
      if (copy.users === 0) await this.#end(id, copy);
    };
    try {
      return { path: await raceAbort(copy.whole, signal), [Symbol.asyncDispose]: release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  #begin(id: string, object: StoredObject): Copy {
    const stop = new AbortController();
    const copy = { whole: this.#download(object, stop.signal), stop, users: 0 };
    this.#copies.set(id, copy);
    copy.whole.catch(() => this.#forget(id, copy)); // the next user tries again
    return copy;
  }

  async #download(object: StoredObject, signal: AbortSignal): Promise<string> {
    const path = join(await this.#options.folder(), `object-${randomSuffix()}`);
    try {
      await this.#options.download(object, path, signal);
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  async #end(id: string, copy: Copy): Promise<void> {
    this.#forget(id, copy);
    copy.stop.abort();
    const path = await copy.whole.catch(() => undefined);
    // Its folder goes with the process, and the work of the user has succeeded.
    if (path !== undefined) await rm(path, { force: true }).catch(() => {});
  }

  #forget(id: string, copy: Copy): void {
    if (this.#copies.get(id) === copy) this.#copies.delete(id);
  }
}
