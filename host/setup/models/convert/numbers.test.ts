import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { floatOfHalf, halfOfFloat } from './formats/half.ts';
import { melFilters, SPECTRUM_BINS } from './mel-filters.ts';
import { BLOCK_WEIGHTS, q5_1, q8_0 } from './quantize-blocks.ts';

const Numbers = suite('number formats');

Numbers('every 16-bit float is unchanged after conversion to 32 bits and back', () => {
  const wrong: number[] = [];
  for (let bits = 0; bits < 65_536; bits += 1) {
    const value = floatOfHalf[bits] ?? 0;
    if (!Number.isNaN(value) && halfOfFloat(value) !== bits) wrong.push(bits);
  }
  assert.equal(wrong, []);
});

for (const [value, bits] of [
  [1 + 2 ** -11, 0x3c00], // a tie goes to even
  [1 + 3 * 2 ** -11, 0x3c02],
  [65_504, 0x7bff],
  [65_520, 0x7c00], // half a step above the largest
  [2 ** -25, 0x0000],
  [3 * 2 ** -25, 0x0002],
  [-Infinity, 0xfc00],
] as const) {
  Numbers(`${value} is rounded to the half ${bits.toString(16)}`, () => assert.is(halfOfFloat(value), bits));
}

const RAMP = Float32Array.from({ length: BLOCK_WEIGHTS }, (_, index) => (index - 15) / 10);

Numbers('q8_0 keeps each weight within half a step', () => {
  const out = Buffer.alloc(q8_0.blockBytes);
  q8_0.encode(RAMP, 0, out, 0);
  const scale = floatOfHalf[out.readUInt16LE(0)] ?? 0;
  RAMP.forEach((value, index) => assert.ok(Math.abs(out.readInt8(2 + index) * scale - value) < scale * 0.6));
  assert.is(out.readInt8(2 + 31), 127);
});

Numbers('q5_1 keeps each weight within half a step', () => {
  const out = Buffer.alloc(q5_1.blockBytes);
  q5_1.encode(RAMP, 0, out, 0);
  const step = floatOfHalf[out.readUInt16LE(0)] ?? 0;
  const low = floatOfHalf[out.readUInt16LE(2)] ?? 0;
  const fifthBits = out.readUInt32LE(4);
  RAMP.forEach((value, index) => {
    const nibble = ((out[8 + (index % 16)] ?? 0) >> (index < 16 ? 0 : 4)) & 15;
    const code = nibble | (((fifthBits >>> index) & 1) << 4);
    assert.ok(Math.abs(code * step + low - value) < step * 0.6, `weight ${index}`);
  });
});

Numbers('a block of zeros is encoded without dividing by zero', () => {
  for (const format of [q8_0, q5_1]) {
    const out = Buffer.alloc(format.blockBytes, 0xff);
    format.encode(new Float32Array(BLOCK_WEIGHTS), 0, out, 0);
    assert.is(out.readUInt16LE(0), 0);
  }
});

Numbers('mel filters are triangles that rise and fall once and cover the spectrum up to 8 kHz', () => {
  for (const bands of [80, 128]) {
    const filters = melFilters(bands);
    assert.is(filters.length, bands * SPECTRUM_BINS);
    for (let bin = 1; bin < SPECTRUM_BINS - 1; bin += 1) {
      const weights = Array.from({ length: bands }, (_, band) => filters[band * SPECTRUM_BINS + bin] ?? 0).filter(
        (weight) => weight > 0,
      );
      assert.ok(weights.length >= 1 && weights.length <= 2, `bin ${bin} lies in ${weights.length} bands`);
    }
  }
});

Numbers.run();
