import { open } from 'node:fs/promises';

/** Spread over the files, so that a long audio takes as long as a short one. */
const PARTS = 128;
const PART_SAMPLES = 8192;
const BYTES_PER_SAMPLE = 4;
/**
 * Below this share of the power of the difference, the sum of two channels is what is left of a cancellation: −17 dB.
 */
const LEFT_OVER = 0.02;

/**
 * Returns whether two channels cancel each other out, as where the wires of one are swapped: their sum is nearly silent
 * and their difference is not. Both are files of 32-bit floats, which may still grow. Returns undefined for silence.
 */
export async function cancelsOut(sum: string, difference: string): Promise<boolean | undefined> {
  await using sumFile = await open(sum);
  await using differenceFile = await open(difference);
  const bytes = Math.min((await sumFile.stat()).size, (await differenceFile.stat()).size);
  const samples = Math.floor(bytes / BYTES_PER_SAMPLE);
  const step = Math.max(PART_SAMPLES, Math.floor(samples / PARTS));
  let [sumPower, differencePower] = [0, 0];
  for (let at = 0; at < samples; at += step) {
    const length = Math.min(PART_SAMPLES, samples - at);
    sumPower += power(await read(sumFile, at, length));
    differencePower += power(await read(differenceFile, at, length));
  }
  if (sumPower === 0 && differencePower === 0) return undefined;
  return sumPower < LEFT_OVER * differencePower;
}

async function read(file: Awaited<ReturnType<typeof open>>, at: number, length: number): Promise<Float32Array> {
  const values = new Float32Array(length);
  await file.read(values, 0, values.byteLength, at * BYTES_PER_SAMPLE);
  return values;
}

const power = (values: Float32Array): number => values.reduce((total, value) => total + value * value, 0);
