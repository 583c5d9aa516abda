/** Bits of a byte of G.711: the sign, the exponent, and the mantissa. */
const SIGN = 0x80;
const EXPONENT_BITS = 0x70;
const MANTISSA_BITS = 0x0f;
const FULL_SCALE = 32_768;

type Decode = (byte: number) => number;

const exponentOf: Decode = (byte) => (byte & EXPONENT_BITS) >> 4;

/** μ-law: all bits are inverted, and 33 is added before the logarithm. Source: ITU-T G.711, table 2. */
function muLaw(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & MANTISSA_BITS) << 1) + 33) << exponentOf(bits)) - 33;
  return (bits & SIGN ? -magnitude : magnitude) << 2;
}

/** A-law: every second bit is inverted, and the two lowest segments are linear. Source: ITU-T G.711, table 1. */
function aLaw(byte: number): number {
  const bits = byte ^ 0x55;
  const exponent = exponentOf(bits);
  const mantissa = ((bits & MANTISSA_BITS) << 1) + 1;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 32) << (exponent - 1);
  return (bits & SIGN ? magnitude : -magnitude) << 3;
}

const tableOf = (decode: Decode): Float32Array =>
  Float32Array.from({ length: 256 }, (_, byte) => decode(byte) / FULL_SCALE);

/** Samples in [−1, 1] by the byte of telephone speech, which has 8000 of them in a second. */
export const G711 = { ulaw: tableOf(muLaw), alaw: tableOf(aLaw) } as const;
