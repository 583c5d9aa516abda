import { cell } from '../invocation/protocol.ts';

const pageBytes = 65_536;

export interface MemoryLimits {
  /** Maximum bytes of one instance. */
  readonly instance: number;
  /** Maximum bytes of all instances of a plugin together. */
  readonly plugin: number;
  /** Bytes that each instance may use regardless of the others. */
  readonly share: number;
}

/** Counts the pages of memories and tables of all instances of a plugin, in all of its threads. */
export class PluginMemory {
  readonly #all: Int32Array;
  readonly #control: Int32Array;
  readonly limits: MemoryLimits;
  /** Ends an idle instance. Returns false when there is none. */
  readonly #endIdle: () => boolean;

  /**
   * @param all one number that all threads of the plugin share.
   * @param control has this thread's share of it, which the host subtracts when the thread is gone.
   */
  constructor(all: Int32Array, control: Int32Array, limits: MemoryLimits, endIdle: () => boolean) {
    this.#all = all;
    this.#control = control;
    this.limits = limits;
    this.#endIdle = endIdle;
  }

  /** Whether this many bytes are available after idle instances have ended. */
  hasRoom(bytes: number): boolean {
    while (!this.#fits(pagesOf(bytes)) && this.#endIdle());
    return this.#fits(pagesOf(bytes));
  }

  /** Counts further pages of an instance, which then has `total` pages. Returns false when they are over the limit. */
  take(pages: number, total: number): boolean {
    if (pages > 0 && total * pageBytes > this.limits.share && !this.hasRoom(pages * pageBytes)) return false;
    this.add(pages);
    return true;
  }

  add(pages: number): void {
    Atomics.add(this.#all, 0, pages);
    Atomics.add(this.#control, cell.pages, pages);
  }

  #fits(pages: number): boolean {
    return (Atomics.load(this.#all, 0) + pages) * pageBytes <= this.limits.plugin;
  }
}

/** Counts the memories and tables of one instance. */
export class InstanceMemory {
  readonly #plugin: PluginMemory;
  #bytes: number;
  #pages: number;

  constructor(plugin: PluginMemory, initialBytes: number) {
    this.#plugin = plugin;
    this.#bytes = initialBytes;
    this.#pages = pagesOf(initialBytes);
    plugin.add(this.#pages);
  }

  /**
   * Called by the hooks of the modules. Returns `delta` when the instance may grow by this many pages or entries.
   * Returns -1 otherwise, and the memory or table does not grow.
   */
  grow(delta: number, bytesEach: number): number {
    const bytes = this.#bytes + (delta >>> 0) * bytesEach;
    const pages = pagesOf(bytes);
    if (bytes > this.#plugin.limits.instance || !this.#plugin.take(pages - this.#pages, pages)) return -1;
    this.#bytes = bytes;
    this.#pages = pages;
    return delta;
  }

  /** Gives the pages back after the instance has ended. */
  release(): void {
    this.#plugin.add(-this.#pages);
    this.#pages = 0;
  }
}

const pagesOf = (bytes: number): number => Math.ceil(bytes / pageBytes);
