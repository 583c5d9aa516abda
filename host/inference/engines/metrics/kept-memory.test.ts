import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LlamaCounts } from '../../../../native/lib/index.ts';
import { KeptMemory } from './kept-memory.ts';

const Memory = suite('the memory that an engine keeps for prompts');

/** An engine that keeps as much as it may, of 1,000 bytes. */
class Engine {
  limit = 1000;
  readonly limits: number[] = [];
  get counts(): LlamaCounts {
    return { keptBytes: Math.min(1000, this.limit) } as LlamaCounts;
  }
  limitKept(bytes: number): void {
    this.limit = bytes;
    this.limits.push(bytes);
  }
}

Memory('is given up as far as a sixteenth of the machine needs it, and comes back', () => {
  const engine = new Engine();
  const memory = new KeptMemory(engine, 1000);
  for (const free of [20_000, 900, 900, 0, 1500, 20_000]) memory.adjust(free, 16_000);
  // 1,000 bytes are to be free.
  assert.equal(engine.limits, [900, 800, 0, 500, 1000]);
});

Memory('is left alone where nothing is known of the machine, and where nothing is kept', () => {
  const engine = new Engine();
  new KeptMemory(engine, 0).adjust(0, 16_000);
  assert.equal(engine.limits, []);
});

Memory.run();
