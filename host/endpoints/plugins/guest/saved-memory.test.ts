import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { restoreMemory, saveMemory } from './saved-memory.ts';

const page = 65_536;

/** A memory with a few stretches that are not zero, at places and of lengths that `seed` decides. */
function memoryWith(seed: number): Uint8Array {
  const memory = new Uint8Array((seed % 4) * page);
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  for (let n = below(12); n > 0; n--) {
    const start = below(memory.length);
    memory.fill(1 + below(255), start, start + below(20_000));
  }
  return memory;
}

const Saved = suite('a saved memory');

Saved('comes back byte for byte, whatever was written, also into a memory that has grown', () => {
  for (let seed = 0; seed < 60; seed++) {
    const before = memoryWith(seed);
    const saved = saveMemory(before.slice());
    for (const grown of [0, page]) {
      const used = new Uint8Array(before.length + grown).fill(0xa5);
      restoreMemory(used, saved);
      const expected = Buffer.alloc(before.length + grown);
      expected.set(before);
      assert.ok(expected.equals(used), `memory ${seed}, ${grown} bytes larger`);
      for (let n = 0; n < 40; n++) used[(n * 7919 * (seed + 1)) % used.length] = n;
      restoreMemory(used, saved);
      assert.ok(expected.equals(used), `memory ${seed}, ${grown} bytes larger, single bytes`);
    }
  }
});

Saved('is apart from the memory it was taken of', () => {
  const memory = new Uint8Array(page).fill(7);
  const saved = saveMemory(memory);
  memory.fill(8);
  restoreMemory(memory, saved);
  assert.ok(memory.every((byte) => byte === 7));
});

Saved('keeps no copy of long stretches of zeros', () => {
  const memory = new Uint8Array(16 * page);
  memory[9 * page] = 1;
  const kept = saveMemory(memory).parts.reduce((total, { content }) => total + content.length, 0);
  assert.ok(kept < page, `${kept} bytes are kept`);
});

Saved.run();
