/** The float32 value of every float16 bit pattern. */
export const floatOfHalf: Float32Array = makeTable();

/** Returns the bits of the nearest float16 of a float32; ties go to even. */
export function halfOfFloat(value: number): number {
  scratch[0] = value;
  const bits = scratchBits[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  const rebased = exponent - 112; // 127 - 15
  if (rebased >= 31) return sign | 0x7c00;
  if (rebased < -10) return sign;
  const isSubnormal = rebased <= 0;
  const mantissa = isSubnormal ? fraction | 0x800000 : fraction;
  const shift = isSubnormal ? 14 - rebased : 13;
  const truncated = (isSubnormal ? 0 : rebased << 10) + (mantissa >>> shift);
  const rest = mantissa & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  const roundsUp = rest > middle || (rest === middle && (truncated & 1) === 1);
  return sign | (truncated + (roundsUp ? 1 : 0)); // a carry into the exponent gives the next power of two, or infinity
}

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

function makeTable(): Float32Array {
  const table = new Float32Array(65_536);
  for (let bits = 0; bits < table.length; bits += 1) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 0) table[bits] = sign * fraction * 2 ** -24;
    else if (exponent === 31) table[bits] = fraction === 0 ? sign * Infinity : NaN;
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return table;
}
