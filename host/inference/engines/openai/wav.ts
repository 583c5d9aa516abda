import { SAMPLE_RATE } from '../speech/mono-audio.ts';

const HEADER_BYTES = 44;

/** Returns samples in [−1, 1], one channel at 16 kHz, as a WAV file with 16 bits for each. Others are clipped. */
export function wavOf(samples: Float32Array): Buffer {
  const bytes = 2 * samples.length;
  const file = Buffer.alloc(HEADER_BYTES + bytes);
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(HEADER_BYTES - 8 + bytes, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16); // bytes of the format
  file.writeUInt16LE(1, 20); // linear PCM
  file.writeUInt16LE(1, 22); // channels
  file.writeUInt32LE(SAMPLE_RATE, 24);
  file.writeUInt32LE(2 * SAMPLE_RATE, 28); // bytes of a second
  file.writeUInt16LE(2, 32); // bytes of a sample
  file.writeUInt16LE(16, 34); // bits of a sample
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(bytes, 40);
  for (const [index, sample] of samples.entries())
    file.writeInt16LE(Math.round(Math.max(-1, Math.min(1, sample)) * 32767), HEADER_BYTES + 2 * index);
  return file;
}
