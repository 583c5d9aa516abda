import { type FileHandle, open } from 'node:fs/promises';
import { fail } from '../../../base/core/errors.ts';
import type { StartContext } from '../../replicas/process/implementation.ts';
import type { AudioReference } from '../../../base/schemas/index.ts';

export const SAMPLE_RATE = 16_000;

interface Channel {
  readonly id: string;
  readonly samples: number;
  readonly file: FileHandle;
}

/**
 * The mean of the channels of an audio, read in parts, so that memory does not grow with its length. Owns the files.
 */
export class MonoAudio implements AsyncDisposable {
  /** Samples of the longest channel. A shorter channel counts as silent after its end. */
  readonly length: number;
  readonly #channels: readonly Channel[];

  private constructor(channels: readonly Channel[]) {
    this.#channels = channels;
    this.length = Math.max(0, ...channels.map(({ samples }) => samples));
  }

  static async open(audio: AudioReference, artifactPath: StartContext['artifactPath']): Promise<MonoAudio> {
    const opened: Channel[] = [];
    try {
      for (const { artifact, samples } of audio.channels)
        if (samples > 0) opened.push({ id: artifact.id, samples, file: await open(await artifactPath(artifact), 'r') });
      return new MonoAudio(opened);
    } catch (error) {
      await Promise.all(opened.map(({ file }) => file.close()));
      throw error;
    }
  }

  /**
   * Returns `count` samples from `start`, with zeros after the end. Throws `DecodedAudioError` for a file that is
   * too short, and `InvalidArguments` for samples that are not finite.
   */
  async read(start: number, count: number): Promise<Float32Array> {
    const mixed = new Float32Array(count);
    const part = new Float32Array(count);
    for (const channel of this.#channels) {
      const length = Math.max(0, Math.min(count, channel.samples - start));
      await readSamples(channel, start, part.subarray(0, length));
      for (let at = 0; at < length; at += 1) mixed[at] = (mixed[at] ?? 0) + (part[at] ?? 0) / this.#channels.length;
    }
    const wrong = mixed.findIndex((value) => !Number.isFinite(value));
    if (wrong >= 0)
      throw fail(
        'InvalidArguments',
        `the audio has a sample that is not a finite number at ${((start + wrong) / SAMPLE_RATE).toFixed(3)} s`,
      );
    return mixed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#channels.map(({ file }) => file.close()));
  }
}

async function readSamples({ id, samples, file }: Channel, start: number, into: Float32Array): Promise<void> {
  const bytes = Buffer.from(into.buffer, into.byteOffset, into.byteLength);
  for (let done = 0; done < bytes.length;) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, 4 * start + done);
    if (bytesRead === 0)
      throw fail('DecodedAudioError', `the audio ${id} holds ${start + done / 4} samples, not ${samples}`);
    done += bytesRead;
  }
}
