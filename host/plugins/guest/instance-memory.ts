import { cell } from '../invocation/protocol.ts';

const pageBytes = 65_536;

export interface MemoryLimits {
  /** Bytes of one instance. */
  readonly instance: number;
  /** Bytes of all of a plugin's instances. */
  readonly plugin: number;
  /** Bytes that an instance gets however much the others have. */
  readonly share: number;
}

/** What a plugin's instances have in memories and tables, in pages and over all of its threads. */
export class PluginMemory {
  readonly #all: Int32Array;
  readonly #control: Int32Array;
  readonly limits: MemoryLimits;
  /** Ends an instance that nobody uses, if there is one. */
  readonly #endIdle: () => boolean;

  /**
   * @param all one number, which all threads of the plugin share; `control` has this thread's part, which the host
   * takes away when the thread is gone.
   */
  constructor(all: Int32Array, control: Int32Array, limits: MemoryLimits, endIdle: () => boolean) {
    this.#all = all;
    this.#control = control;
    this.limits = limits;
    this.#endIdle = endIdle;
  }

  /** Whether there is room for so many bytes more, once idle instances are gone. */
  hasRoom(bytes: number): boolean {
    while (!this.#fits(pagesOf(bytes)) && this.#endIdle());
    return this.#fits(pagesOf(bytes));
  }

  /** Counts further pages of an instance that has `total` then. False when they are too many. */
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

/** What one instance has: all of its memories and tables together. */
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
   * The hook of the modules: `delta` when it may grow by so many pages or entries, else -1, by which no memory and no
   * table grows.
   */
  grow(delta: number, bytesEach: number): number {
    const bytes = this.#bytes + (delta >>> 0) * bytesEach;
    const pages = pagesOf(bytes);
    if (bytes > this.#plugin.limits.instance || !this.#plugin.take(pages - this.#pages, pages)) return -1;
    this.#bytes = bytes;
    this.#pages = pages;
    return delta;
  }

  /** The instance is not used any more. */
  release(): void {
    this.#plugin.add(-this.#pages);
    this.#pages = 0;
  }
}

const pagesOf = (bytes: number): number => Math.ceil(bytes / pageBytes);
