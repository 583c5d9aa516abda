// How much memory a replica takes for a long audio.
import { createHash } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { artifactOf } from '../../../io/artifacts/index.ts';
import type { DeploymentHandle, DeploymentManager } from '../../../inference/deployments/index.ts';
import { readWav } from '../../../inference/engines/fixtures/cannot-run.ts';
import { deployed } from '../../../inference/engines/fixtures/real-models.ts';
import type { CallProgress } from '../../../inference/replicas/index.ts';
import type { AsrOutput, AudioReference } from '../../../base/schemas/index.ts';
import { speechPath } from '../../helpers/media/media.ts';
import { replicaPid, residentBytes } from './replica-memory.ts';

export interface LongAudioReport {
  /** Bytes of the replica in memory before its first audio, and at most with an audio of some minutes. */
  readonly idleBytes: number;
  readonly shortPeakBytes: number;
  /** At most with the long audio. */
  readonly peakBytes: number;
  /** The part of the audio that was done, from 0 to 1. */
  readonly done: number;
}

const SAMPLES_PER_SECOND = 16_000;
const LOOK_MS = 50;
/** The speech sample is shorter, and speech ends before its end. */
const MOST_SILENCE_S = 15;
/** As long as windows for all computations of a replica, decoded together. */
const SHORT_S = 8 * 60;

/** How a transcription is answered: segment by segment, or as one value, which the replica holds as a whole. */
export type LongAnswer = 'stream' | 'whole';

/**
 * Transcribes `hours` of repeated speech for at most `minutes`, with word times and log-probabilities, and then leaves.
 * Throws when the audio is done and its segments do not reach its end.
 */
export async function measureLongAudio(hours: number, minutes: number, answer: LongAnswer): Promise<LongAudioReport> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-long-audio-'));
  const manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1 } });
  try {
    const [short, long] = [
      await writeSpeech(join(folder, 'short.f32'), SHORT_S * SAMPLES_PER_SECOND),
      await writeSpeech(join(folder, 'long.f32'), hours * 3600 * SAMPLES_PER_SECOND),
    ];
    await manager.start();
    const idleBytes = await residentBytes(replicaPid(manager));
    const { peakBytes: shortPeakBytes } = await transcribed(manager, short, 60, answer);
    return { idleBytes, shortPeakBytes, ...(await transcribed(manager, long, minutes, answer)) };
  } finally {
    await manager.shutdown({ graceMs: 0 });
    await rm(folder, { recursive: true });
  }
}

async function transcribed(
  manager: DeploymentManager,
  audio: AudioReference,
  minutes: number,
  answer: LongAnswer,
): Promise<Pick<LongAudioReport, 'peakBytes' | 'done'>> {
  const seconds = (audio.channels[0]?.samples ?? 0) / SAMPLES_PER_SECOND;
  const pid = replicaPid(manager);
  let [peakBytes, done] = [0, 0];
  const look = async (): Promise<void> => {
    peakBytes = Math.max(peakBytes, await residentBytes(pid));
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  const signal = AbortSignal.timeout(minutes * 60_000);
  const options = { signal, onProgress: ({ fraction = 0 }: CallProgress): void => void (done = fraction) };
  try {
    const args = { audio, params: { word_timestamps: true, logprobs: true } };
    const end = await endOfSpeech(manager.handle('model'), args, answer, options);
    if (end < seconds - MOST_SILENCE_S) throw new Error(`the last segment ends at ${end} s of ${seconds} s`);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
  return { peakBytes, done };
}

/** Returns the end of the last segment in seconds. */
async function endOfSpeech(
  model: DeploymentHandle,
  args: Record<string, unknown>,
  answer: LongAnswer,
  options: { readonly signal: AbortSignal; readonly onProgress: (progress: CallProgress) => void },
): Promise<number> {
  const endOf = (value: unknown): number => (value as AsrOutput).segments.at(-1)?.time_interval.end ?? 0;
  if (answer === 'whole') return endOf(await model.call('transcribe', args, options));
  let end = 0;
  for await (const batch of model.stream('transcribe_stream', args, options))
    for (const value of batch) end = Math.max(end, endOf(value));
  return end;
}

async function writeSpeech(path: string, samples: number): Promise<AudioReference> {
  const [speech = new Float32Array(0)] = await readWav(speechPath());
  const clip = Buffer.from(speech.buffer, speech.byteOffset, speech.byteLength);
  const hash = createHash('sha256');
  await using file = await open(path, 'w');
  for (let left = samples * Float32Array.BYTES_PER_ELEMENT; left > 0; left -= clip.length) {
    const part = clip.subarray(0, left);
    await file.write(part);
    hash.update(part);
  }
  return {
    channels: [{ artifact: await artifactOf(tmpdir(), path, hash.digest('hex')), samples }],
    sample_rate: 16000,
  };
}
