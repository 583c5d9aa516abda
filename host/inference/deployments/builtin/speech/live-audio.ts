import * as z from 'zod';
import { EncodedAudio, MAX_LIVE_AUDIO_BYTES } from '../../../../base/schemas/index.ts';

function encoded(
  encoding: EncodedAudio['encoding'],
  { buffer, byteOffset, byteLength }: ArrayBufferView,
): EncodedAudio {
  return { encoding, data: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
}

const isShort = ({ byteLength }: ArrayBufferView): boolean => byteLength <= MAX_LIVE_AUDIO_BYTES;
const TOO_LONG = `Input should have at most ${MAX_LIVE_AUDIO_BYTES} bytes`;

/**
 * A part of live audio, mono at 16 kHz, of any length up to 30 s: an `Int16Array`, a `Float32Array` with values in [−1,
 * 1], or bytes of 16-bit little-endian samples. Becomes base64, the form in which it goes to replicas.
 */
export const LiveAudio = z
  .union(
    [z.instanceof(Int16Array), z.instanceof(Float32Array), z.instanceof(Uint8Array), EncodedAudio],
    'Input should be mono audio at 16 kHz: an Int16Array, a Float32Array, or bytes of 16-bit samples',
  )
  .refine((audio) => !ArrayBuffer.isView(audio) || isShort(audio), TOO_LONG)
  .refine(
    (audio) => !(audio instanceof Uint8Array) || audio.byteLength % 2 === 0,
    'Input should be whole samples of 2 bytes',
  )
  .transform((audio) => {
    if (!ArrayBuffer.isView(audio)) return audio;
    return encoded(audio instanceof Float32Array ? 'f32le' : 's16le', audio);
  });
