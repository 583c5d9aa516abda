import type { NativeLlamaEngine } from '../../../../native/lib/index.ts';
import { totalMainBytes } from '../../../base/core/machine/total-memory.ts';
import { freeMainBytes } from '../../../base/core/machine/main-memory.ts';

/** The part of a machine's memory that engines leave to others. */
const RESERVED = 1 / 16;

/** Gives up what an engine keeps of prompts when the machine has little memory left. */
export class KeptMemory {
  readonly #engine: Pick<NativeLlamaEngine, 'limitKept' | 'counts'>;
  readonly #mostBytes: number;
  #limit: number;

  /** The engine keeps at most `mostBytes`. */
  constructor(engine: Pick<NativeLlamaEngine, 'limitKept' | 'counts'>, mostBytes: number) {
    this.#engine = engine;
    this.#mostBytes = mostBytes;
    this.#limit = mostBytes;
  }

  /** Called now and then. Looks at the memory that is free. */
  adjust(freeBytes = freeMainBytes(), totalBytes = totalMainBytes()): void {
    if (this.#mostBytes === 0 || freeBytes === undefined) return;
    const room = Math.max(0, this.#engine.counts.keptBytes + freeBytes - totalBytes * RESERVED);
    const limit = Math.floor(Math.min(room, this.#mostBytes));
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#engine.limitKept(limit);
  }
}
