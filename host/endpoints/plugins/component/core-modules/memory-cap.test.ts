import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { capMemory, checkInitialMemory, initialMemory } from './memory-cap.ts';

const page = 65_536;
const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
/** Returns a module that exports a memory with the type `limits`, after a custom section. */
const moduleWith = (...limits: number[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.of(...header, 0, 3, 2, 0x61, 0x62, 5, limits.length + 1, 1, ...limits, 7, 5, 1, 1, 0x6d, 2, 0);
const memoryOf = (bytes: Uint8Array): WebAssembly.Memory => {
  const memory = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.m;
  assert.ok(memory instanceof WebAssembly.Memory);
  return memory;
};

const CapMemory = suite('capMemory');

CapMemory('a memory without a maximum grows to the cap and not beyond', () => {
  const memory = memoryOf(capMemory(moduleWith(0, 1), 300 * page)); // 300 takes two bytes
  memory.grow(299);
  assert.throws(() => memory.grow(1), RangeError);
});

CapMemory('a maximum below the cap stays', () => {
  const memory = memoryOf(capMemory(moduleWith(1, 1, 2), 300 * page));
  memory.grow(1);
  assert.throws(() => memory.grow(1), RangeError);
});

CapMemory('a maximum above the cap is lowered', () => {
  const memory = memoryOf(capMemory(moduleWith(1, 1, 0x80, 8), 2 * page));
  memory.grow(1);
  assert.throws(() => memory.grow(1), RangeError);
});

CapMemory('a memory that begins above the cap is refused with both numbers', () => {
  assert.throws(
    () => capMemory(moduleWith(0, 3), 2 * page),
    /needs 196608 bytes of memory at once, the limit is 131072/,
  );
});

CapMemory('a memory that threads share, or one of 64 bits, is refused', () => {
  assert.throws(
    () => initialMemory(moduleWith(3, 1, 2)),
    /it has a memory that threads share, which a plugin cannot have/,
  );
  assert.throws(() => initialMemory(moduleWith(4, 1)), /of a kind that is not supported/);
});

CapMemory('memories and tables of all modules are counted together', () => {
  const table = Uint8Array.of(...header, 4, 6, 1, 0x70, 0, 0x80, 0x80, 1); // 16384 entries
  assert.equal(initialMemory(table), { memories: 0, bytes: 32 * page });
  const both = [initialMemory(moduleWith(0, 3)), initialMemory(table)];
  assert.is(checkInitialMemory(both, 35 * page), 35 * page);
  assert.throws(
    () => checkInitialMemory(both, 34 * page),
    /needs 2293760 bytes of memory at once, the limit is 2228224/,
  );
  assert.throws(
    () => checkInitialMemory(Array(5).fill(initialMemory(moduleWith(0, 0))), page),
    /it has 5 memories, a plugin has at most 4/,
  );
});

CapMemory('a module without a memory is left as it is', () => {
  const bytes = Uint8Array.of(...header);
  assert.is(capMemory(bytes, page), bytes);
});

CapMemory('a module that ends within a section is refused', () => {
  assert.throws(() => capMemory(Uint8Array.of(...header, 5), page), RangeError);
});

CapMemory.run();
