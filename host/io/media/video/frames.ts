import { AanaError } from '../../../base/core/errors.ts';
import type { FrameOptions } from '../../../base/schemas/index.ts';
import { mediaTooLongError } from '../errors.ts';
import type { Probe } from '../probe.ts';
import type { MediaSource } from '../types.ts';
import { FrameDecoder, type RawFrame } from './frame-decoder.ts';
import { type FramePlan, frameSize, planFrames } from './frame-plan.ts';
import type { Size } from '../image/size.ts';
import { shownTrack, type VideoTrack } from './video-track.ts';

export interface DecodeFramesOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly maxDurationS: number;
  readonly signal: AbortSignal;
}

/** Seconds that a video may be longer than the limit, because durations are rounded. */
const SPARE_SECONDS = 1;
/** A moment before the first frame of a file whose times begin late. */
const ROUNDING_S = 1e-3;
/** Frames that are decoded before a time that is sought. */
const FRAMES_BEFORE = 2.5;
/** Seconds of them where the file does not say its rate. */
const DEFAULT_BEFORE_S = 0.1;

/** The frames that a caller has chosen. */
export interface ChosenFrames {
  readonly size: Size;
  /** Times are seconds from the start of the file. Pixels are overwritten by the next frame. */
  readonly frames: AsyncGenerator<RawFrame, void, undefined>;
}

/**
 * Chooses frames of the file at `path`, each of which is decoded when it is asked for. A file without a video track has
 * none. Throws `VideoReadingException` and `MediaTooLongException`, also while frames are read.
 */
export function chooseFrames(
  path: string,
  probe: Probe,
  options: FrameOptions,
  decoding: DecodeFramesOptions,
): ChosenFrames {
  const { source, maxDurationS } = decoding;
  const { duration } = probe.info;
  const track = shownTrack(probe.videoTracks);
  if (!track) return { size: { width: 1, height: 1 }, frames: none() };
  if (duration !== undefined && duration > maxDurationS + SPARE_SECONDS)
    throw mediaTooLongError(source, maxDurationS, duration);
  const size = frameSize(track, options, source);
  const plan = planFrames(options, probe, source);
  const decoder = new Decoding(path, probe, track, size, decoding);
  return { size, frames: plan.kind === 'seek' ? sought(decoder, plan) : decoded(decoder, plan) };
}

async function* none(): AsyncGenerator<RawFrame, void, undefined> {}

async function* decoded(
  decoding: Decoding,
  { select, onlyKeyframes, most }: FramePlan & { readonly kind: 'decode' },
): AsyncGenerator<RawFrame, void, undefined> {
  await using decoder = decoding.decode(select, onlyKeyframes ? ['-skip_frame', 'nokey'] : []);
  for (let count = 0; count < most; count++) {
    const frame = await decoder.next();
    if (!frame) return;
    yield decoding.placed(frame);
  }
}

async function* sought(
  decoding: Decoding,
  { times, repeats }: FramePlan & { readonly kind: 'seek' },
): AsyncGenerator<RawFrame, void, undefined> {
  let last: number | undefined;
  for (const time of times) {
    const frame = await decoding.shownAt(time);
    if (!frame || (frame.time === last && !repeats)) continue;
    last = frame.time;
    yield frame;
  }
}

/** Runs ffmpeg for the frames of one track. */
class Decoding {
  readonly #path: string;
  readonly #start: number;
  readonly #track: VideoTrack;
  readonly #size: Size;
  readonly #options: DecodeFramesOptions;

  constructor(path: string, { start = 0 }: Probe, track: VideoTrack, size: Size, options: DecodeFramesOptions) {
    this.#path = path;
    this.#start = start;
    this.#track = track;
    this.#size = size;
    this.#options = options;
  }

  decode(select: string, before: readonly string[]): FrameDecoder {
    const { ffmpegPath, source, maxDurationS, signal } = this.#options;
    return new FrameDecoder({
      ...{ ffmpegPath, source, signal, path: this.#path, track: this.#track, size: this.#size, before, select },
      // One thread decodes a second of 4K video in up to 3 s.
      cpuSeconds: 60 + 4 * maxDurationS,
    });
  }

  /** Returns the frame with its time from the start of the file. Throws for one beyond the limit. */
  placed(frame: RawFrame): RawFrame {
    const { source, maxDurationS } = this.#options;
    const time = Math.max(0, Math.round((frame.time - this.#start) * 1e6) / 1e6);
    if (time > maxDurationS + SPARE_SECONDS) throw mediaTooLongError(source, maxDurationS);
    return { time, pixels: frame.pixels, sha256: frame.sha256 };
  }

  /**
   * Returns the frame that a player shows at `time`: the last one that begins until then, or the first one of all. It
   * is usually within the last frames before; a video that stands still needs those from the key frame on.
   */
  async shownAt(time: number): Promise<RawFrame | undefined> {
    const rate = this.#track.frameRate;
    const before = rate === undefined ? DEFAULT_BEFORE_S : FRAMES_BEFORE / rate;
    const until = this.#start + time + ROUNDING_S;
    const seek = ['-ss', String(time)];
    const fromKeyframe = ['-noaccurate_seek', ...seek];
    const atTime = `gte(t,${until - before})*lte(t,${until})`;
    const attempts = [
      () => this.#last(atTime, fromKeyframe),
      () => this.#last(`lte(t,${until})`, fromKeyframe),
      () => this.#first(seek), // before the first frame
      () => this.#last(atTime, []), // where the file has no usable index
    ];
    let failure: unknown;
    for (const attempt of attempts) {
      try {
        const frame = await attempt();
        if (frame) return frame;
      } catch (error) {
        if (!(error instanceof AanaError) || error.name !== 'VideoReadingException') throw error;
        failure = error;
      }
    }
    if (failure) throw failure;
    return undefined;
  }

  async #first(before: readonly string[]): Promise<RawFrame | undefined> {
    await using decoder = this.decode('1', before);
    const frame = await decoder.next();
    return frame && this.placed(frame);
  }

  async #last(select: string, before: readonly string[]): Promise<RawFrame | undefined> {
    await using decoder = this.decode(select, before);
    let last: RawFrame | undefined;
    for (let frame = await decoder.next(); frame; frame = await decoder.next())
      last = { time: frame.time, pixels: Buffer.from(frame.pixels), sha256: frame.sha256 };
    return last && this.placed(last);
  }
}
