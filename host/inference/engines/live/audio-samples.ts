import { type AanaError, fail } from '../../../base/core/errors.ts';
import { EncodedAudio } from '../../../base/schemas/index.ts';

const BYTES = { s16le: 2, f32le: 4 } as const;

/** Returns the samples of a part of live audio, in [−1, 1]. Throws `ValidationError`. */
export function samplesOf(value: unknown): Float32Array {
  const parsed = EncodedAudio.safeParse(value);
  if (!parsed.success) throw invalidAudio('the part is not encoded as live audio is');
  const { encoding, data } = parsed.data;
  const bytes = Buffer.from(data, 'base64');
  const size = BYTES[encoding];
  if (bytes.length % size !== 0) throw invalidAudio(`${bytes.length} bytes are no whole samples of ${size} bytes`);
  const samples = new Float32Array(bytes.length / size);
  for (let at = 0; at < samples.length; at += 1)
    samples[at] = encoding === 's16le' ? bytes.readInt16LE(2 * at) / 32_768 : bytes.readFloatLE(4 * at);
  return samples;
}

function invalidAudio(problem: string): AanaError {
  return fail('ValidationError', `audio: ${problem}`, {
    data: [{ type: 'value_error', loc: ['audio'], msg: problem }],
  });
}
