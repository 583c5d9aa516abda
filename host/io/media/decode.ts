import { readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { artifactOf } from '../artifacts/index.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import type { GrowingAudioReference } from '../../base/schemas/growing-audio.ts';
import { audioTrackOf } from './audio/audio-track.ts';
import { audioReadingError, diskFullError, mediaTooLongError } from './errors.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { Handover } from './handover.ts';
import { cancelsOut } from './audio/out-of-phase.ts';
import { atPacketTimes } from './audio/packet-times.ts';
import { type AudioTrack, type Probe, complaint } from './probe.ts';
import type { AudioChannels, AudioMedia, MediaSource } from './types.ts';

export interface DecodeOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly channels: AudioChannels;
  readonly maxDurationS: number;
  /** The folder that the ids of artifacts are relative to. */
  readonly root: string;
  /** An existing folder below `root`, in which the files are named `<name>-<channel>.f32`. */
  readonly folder: string;
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once with the files if decoding takes a while. Not called for a file that does not say its duration. If
   * decoding fails afterwards, the files are removed.
   */
  readonly onGrowing?: ((reference: GrowingAudioReference) => void) | undefined;
}

const SAMPLE_RATE = 16_000;
const BYTES_PER_SAMPLE = 4;
/** Decoded beyond the limit, so that a file that is too long is noticed. */
const SPARE_SECONDS = 1;
const MAX_SEPARATE_CHANNELS = 32;

/**
 * Decodes an audio track of the file at `path` to 16 kHz: raw little-endian 32-bit floats in [−1, 1], one file for each
 * channel. Sample n is what a player plays n / 16000 s after the start of the file, so there is silence where the track
 * has no packets. Of a broken track it decodes as much as possible. Of two channels that cancel each other out the mix
 * is their difference. A file without an audio track has no channels. Throws `AudioReadingException` if nothing can be
 * decoded or the track does not exist, `MediaTooLongException` or `DiskFullException`, and then leaves no file.
 */
export async function decodeAudio(path: string, probe: Probe, options: DecodeOptions): Promise<AudioMedia> {
  const { source, maxDurationS } = options;
  const track = audioTrackOf(probe, source);
  if (!track) return { duration: 0, reference: { channels: [], sample_rate: SAMPLE_RATE } };
  if (probe.info.duration !== undefined && probe.info.duration > maxDurationS + SPARE_SECONDS)
    throw mediaTooLongError(source, maxDurationS, probe.info.duration);
  const decoded = new Decoded(
    filtersOf(track, options).map((filter, at) => outputIn(options.folder, `${options.name}-${at}`, filter)),
    options.channels === 'mix' && track.channels === 2,
  );
  const { outputs } = decoded;
  const handover = handoverOf(decoded, probe, options);
  try {
    await runDecoder(path, { stream: track.stream, start: probe.start ?? 0, outputs }, options);
    handover?.stop();
    const chosen = await decoded.chosen(true);
    const channels = await Promise.all(chosen.map((output) => channelOf(output, options.root)));
    const duration = Math.max(...channels.map(({ samples }) => samples)) / SAMPLE_RATE;
    if (duration > maxDurationS) throw mediaTooLongError(source, maxDurationS);
    await Promise.all(outputs.filter((output) => !chosen.includes(output)).map(({ file }) => rm(file)));
    await handover?.end(channels.map(({ samples }) => samples));
    return { duration, reference: { channels, sample_rate: SAMPLE_RATE } };
  } catch (error) {
    handover?.stop();
    await Promise.all(outputs.map(({ file }) => rm(file, { force: true })));
    throw error;
  } finally {
    await Promise.all(outputs.map(({ sumFile }) => rm(sumFile, { force: true })));
  }
}

/** What a decoder writes, and what of it is used. */
class Decoded {
  readonly outputs: readonly Output[];
  #chosen: readonly Output[] | undefined;

  /** With `isEither` one of the outputs is used: they are the mean of two channels and half of their difference. */
  constructor(outputs: readonly Output[], isEither: boolean) {
    this.outputs = outputs;
    if (!isEither) this.#chosen = outputs;
  }

  /** Returns the outputs that are used, once it is known; always when the decoder has ended. */
  chosen(hasEnded: true): Promise<readonly Output[]>;
  chosen(hasEnded: false): Promise<readonly Output[] | undefined>;
  async chosen(hasEnded: boolean): Promise<readonly Output[] | undefined> {
    if (this.#chosen) return this.#chosen;
    const [mean, difference] = this.outputs as readonly [Output, Output];
    const cancels = await cancelsOut(mean.file, difference.file);
    if (cancels === undefined && !hasEnded) return undefined;
    this.#chosen ??= [cancels ? difference : mean]; // the end of the decoder may have been faster
    return this.#chosen;
  }
}

function handoverOf(
  decoded: Decoded,
  { info: { duration } }: Probe,
  { root, folder, name, onGrowing }: DecodeOptions,
): Handover | undefined {
  if (onGrowing === undefined || duration === undefined) return undefined;
  return new Handover({
    root,
    folder,
    name,
    files: async () =>
      (await hasBegun(decoded.outputs)) ? (await decoded.chosen(false))?.map(({ file }) => file) : undefined,
    sampleRate: SAMPLE_RATE,
    expectedSamples: Math.round(duration * SAMPLE_RATE),
    onGrowing,
  });
}

/** Returns whether the decoder has written samples to each file. */
async function hasBegun(outputs: readonly Output[]): Promise<boolean> {
  const sizes = await Promise.all(
    outputs.map(({ file }) =>
      stat(file).then(
        ({ size }) => size,
        () => 0, // the decoder has not made it yet
      ),
    ),
  );
  return !sizes.includes(0);
}

interface Output {
  readonly filter: string;
  /** The file of samples. */
  readonly name: string;
  readonly file: string;
  /**
   * The file of the samples' SHA-256, which ffmpeg writes. Hashing them in this process would block the thread that
   * serves all requests.
   */
  readonly sumName: string;
  readonly sumFile: string;
}

function outputIn(folder: string, name: string, filter: string): Output {
  const [samples, sum] = [`${name}.f32`, `${name}.sha256`];
  return { filter, name: samples, file: join(folder, samples), sumName: sum, sumFile: join(folder, sum) };
}

async function channelOf(
  { file, sumFile }: Output,
  root: string,
): Promise<AudioMedia['reference']['channels'][number]> {
  const sha256 = /^SHA256=([0-9a-f]{64})$/m.exec(await readFile(sumFile, 'utf8'))?.[1];
  if (sha256 === undefined) throw fail('DecodedAudioError', 'ffmpeg did not write the SHA-256 of the decoded audio');
  const artifact = await artifactOf(root, file, sha256);
  return { artifact, samples: Math.floor(artifact.bytes / BYTES_PER_SAMPLE) };
}

/** Float tracks may contain any value. The conversion to 16-bit samples limits the values and removes NaN. */
const TO_PCM = `aresample=${SAMPLE_RATE},aformat=sample_fmts=s16`;
const mono = (mix: string): string => `pan=mono|c0=${mix},${TO_PCM}`;

function filtersOf({ channels: count }: AudioTrack, { channels, source }: DecodeOptions): string[] {
  const mix = `aformat=channel_layouts=mono,${TO_PCM}`;
  if (count === 1) return [mix];
  if (channels === 'mix') return count === 2 ? [mix, mono('0.5*c0-0.5*c1')] : [mix];
  if (count === undefined || count < 1)
    throw audioReadingError(source, 'the number of audio channels is unknown, so the channels cannot be separated');
  if (count > MAX_SEPARATE_CHANNELS)
    throw audioReadingError(
      source,
      `the audio has ${count} channels; at most ${MAX_SEPARATE_CHANNELS} can be separated`,
    );
  return Array.from({ length: count }, (_, channel) => mono(`c${channel}`));
}

interface Decoding {
  /** Number of the track among all tracks of the file. */
  readonly stream: number;
  /** Seconds: the time of packets that is 0 in the output. */
  readonly start: number;
  readonly outputs: readonly Output[];
}

async function runDecoder(path: string, { stream, start, outputs }: Decoding, options: DecodeOptions): Promise<void> {
  const { source, maxDurationS } = options;
  const seconds = maxDurationS + SPARE_SECONDS;
  // The names contain no character with a meaning for the muxer, because we choose them. A path might contain one.
  const after = outputs.flatMap(({ filter, name, sumName }) => [
    ...['-map', `0:${stream}`, '-vn', '-sn', '-dn', '-af', `${filter},${atPacketTimes(start, SAMPLE_RATE)}`],
    ...['-ac', '1', '-ar', String(SAMPLE_RATE)],
    ...['-t', String(seconds), '-c:a', 'pcm_f32le', '-f', 'tee', `[f=f32le]${name}|[f=hash:hash=sha256]${sumName}`],
  ]);
  // Measured: 0.005 CPU seconds for each second of audio. `-t` does not limit work that a file causes without output,
  // so the CPU time is limited too.
  const cpuSeconds = 60 + maxDurationS / 5;
  const fileBytes = (seconds + SPARE_SECONDS) * SAMPLE_RATE * BYTES_PER_SAMPLE;
  const result = await runFfmpeg(options.ffmpegPath, ['-v', 'error', '-copyts'], path, after, {
    cwd: options.folder,
    signal: options.signal,
    timeoutMs: cpuSeconds * 5000,
    cpuSeconds,
    fileBytes,
  }).catch((error: unknown) => {
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw audioReadingError(source, 'decoding the audio took too long', error);
    throw error;
  });
  const { code, signal, stderr } = result;
  if (/No space left on device|Disk quota exceeded/.test(stderr))
    throw diskFullError(dirname(outputs[0]?.file ?? options.folder));
  if (signal === 'SIGXCPU' || signal === 'SIGXFSZ') throw mediaTooLongError(source, maxDurationS);
  if (code !== 0)
    throw audioReadingError(
      source,
      `the audio track cannot be decoded (${signal ? `the decoder was killed by ${signal}` : complaint(stderr, path)})`,
    );
  if (stderr !== '' && (await isEmpty(outputs)))
    throw audioReadingError(source, `the audio track cannot be decoded (${complaint(stderr, path)})`);
}

async function isEmpty(outputs: readonly Output[]): Promise<boolean> {
  const sizes = await Promise.all(outputs.map(async ({ file }) => (await stat(file)).size));
  return sizes.every((size) => size === 0);
}
