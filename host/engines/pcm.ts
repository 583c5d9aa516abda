import { open } from 'node:fs/promises';
import { AanaError } from '../core/errors.ts';
import type { StartContext } from '../replicas/process/implementation.ts';
import type { AudioReference } from '../schemas/index.ts';

type Channel = AudioReference['channels'][number];

/**
 * Reads raw little-endian 32-bit floats from the file that `artifactPath` resolves. Throws `AudioReadingException` when
 * the file holds fewer samples than it should.
 */
export async function readPcm(
  { artifact, samples }: Channel,
  artifactPath: StartContext['artifactPath'],
): Promise<Float32Array> {
  const values = new Float32Array(samples);
  if (samples === 0) return values;
  const path = await artifactPath(artifact);
  const bytes = Buffer.from(values.buffer);
  await using file = await open(path, 'r');
  let read = 0;
  while (read < bytes.length) {
    const { bytesRead } = await file.read(bytes, read, Math.min(bytes.length - read, 16 * 1024 * 1024), read);
    if (bytesRead === 0)
      throw new AanaError(
        'AudioReadingException',
        'internal',
        `the audio ${artifact.id} holds ${read / 4} samples, not ${samples}`,
      );
    read += bytesRead;
  }
  return values;
}

export function isSilent(samples: Float32Array): boolean {
  return samples.every((value) => value === 0);
}

/** Returns the mean of the channels. A shorter channel counts as silent after its end. */
export function mixDown(channels: readonly Float32Array[]): Float32Array {
  const [first, ...others] = channels;
  if (!first) return new Float32Array(0);
  if (others.length === 0) return first;
  const mixed = new Float32Array(Math.max(...channels.map(({ length }) => length)));
  for (const channel of channels)
    for (let at = 0; at < channel.length; at += 1) mixed[at] = (mixed[at] ?? 0) + (channel[at] ?? 0) / channels.length;
  return mixed;
}
