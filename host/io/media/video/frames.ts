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
/** Frames before a time among which the one that is shown is expected. */
const FRAMES_NEAR = 2.5;
/** Frames in a second where the file does not say it. */
const DEFAULT_RATE = 25;
/** Seconds before a time from which it is sought, because in some containers seeking ends later than it should. */
const REWINDS_S = [0, 10, 60];
/** Times of frames are rounded to this part of a second. */
const TICK_S = 1e-6;

/** ffmpeg's options of the input that say where decoding begins. */
type Place = readonly string[];
const FROM_START: Place = [];

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
  { select, onlyKeyframes, interval, most }: FramePlan & { readonly kind: 'decode' },
): AsyncGenerator<RawFrame, void, undefined> {
  await using decoder = decoding.decode(select, onlyKeyframes ? ['-skip_frame', 'nokey'] : []);
  let last = -1;
  for (let count = 0; count < most;) {
    const next = await decoder.next();
    if (!next) return;
    const frame = decoding.placed(next);
    if (interval !== undefined) {
      // The filter forgets what it has chosen where the pictures change their size.
      const number = Math.floor((frame.time + TICK_S) / interval);
      if (number <= last) continue;
      last = number;
    }
    count += 1;
    yield frame;
  }
}

async function* sought(
  decoding: Decoding,
  { times, which }: FramePlan & { readonly kind: 'seek' },
): AsyncGenerator<RawFrame, void, undefined> {
  if (which === 'shown') {
    for (const time of times) {
      const frame = await decoding.shownAt(time);
      if (frame) yield frame;
    }
    return;
  }
  let last = -1;
  for (const time of times) {
    if (time <= last) continue; // no frame begins between this time and the last frame
    const frame = await decoding.firstFrom(time);
    if (!frame) return;
    last = frame.time;
    yield frame;
  }
}

/** Runs ffmpeg for the frames of one track. */
class Decoding {
  readonly #path: string;
  readonly #start: number;
  readonly #duration: number;
  readonly #track: VideoTrack;
  readonly #size: Size;
  readonly #options: DecodeFramesOptions;
  /** Whether a frame was found by seeking, so that the file has an index. */
  #canSeek = false;

  constructor(path: string, { start = 0, info }: Probe, track: VideoTrack, size: Size, options: DecodeFramesOptions) {
    this.#path = path;
    this.#start = start;
    this.#duration = info.duration ?? Infinity;
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
    return { time, pixels: frame.pixels };
  }

  /**
   * Returns the frame that a player shows at `time`: the last one that begins until then, or the first one of all. It
   * is usually within the last frames before; a video that stands still needs those from the key frame on.
   */
  async shownAt(time: number): Promise<RawFrame | undefined> {
    const until = Math.min(time, this.#duration) + ROUNDING_S;
    const near = until - this.#lengthOf(FRAMES_NEAR);
    return this.#seek(until, async (place) => {
      const { last, later } = await this.#lastUntil(until, place, this.#fromOn(near));
      const isSure = last === undefined || last.time >= near;
      return { frame: isSure ? last : (await this.#lastUntil(until, place, '1')).last, later };
    });
  }

  /** Returns the first frame that begins at `time` or later. */
  async firstFrom(time: number): Promise<RawFrame | undefined> {
    return this.#seek(time, async (place) => {
      await using decoder = this.decode(this.#fromOn(time - TICK_S), place);
      let isSure = false; // whether decoding began before the time
      for (let next = await decoder.next(); next; next = await decoder.next()) {
        const frame = this.placed(next);
        if (frame.time >= time - TICK_S)
          return isSure || frame.time <= time + this.#lengthOf(1) ? { frame } : { later: frame };
        isSure = true;
        this.#canSeek ||= place !== FROM_START;
      }
      return {};
    });
  }

  /** Returns how many seconds so many frames take on average. */
  #lengthOf(frames: number): number {
    return frames / (this.#track.frameRate ?? DEFAULT_RATE);
  }

  /** An expression of the filter `select` for the first frame that is decoded, and those from `time` on. */
  #fromOn(time: number): string {
    return `eq(n,0)+gte(t,${this.#start + time})`;
  }

  /** Returns the last of the selected frames that begins until then. If there is none, returns the one after. */
  async #lastUntil(
    until: number,
    place: Place,
    select: string,
  ): Promise<{ readonly last?: RawFrame; readonly later?: RawFrame }> {
    await using decoder = this.decode(select, place);
    let last: RawFrame | undefined;
    for (let next = await decoder.next(); next; next = await decoder.next()) {
      const frame = this.placed(next);
      if (frame.time > until) return last ? { last } : { later: frame };
      last = { time: frame.time, pixels: Buffer.from(frame.pixels) };
    }
    return last ? { last } : {};
  }

  /** Returns the frame that `find` finds from one of the places, or else the one that begins too late. */
  async #seek(
    time: number,
    find: (place: Place) => Promise<{ readonly frame?: RawFrame | undefined; readonly later?: RawFrame | undefined }>,
  ): Promise<RawFrame | undefined> {
    let later: RawFrame | undefined;
    let failure: unknown;
    for (const place of this.#placesBefore(time)) {
      try {
        const found = await find(place);
        if (found.frame) {
          this.#canSeek ||= place !== FROM_START;
          return found.frame;
        }
        later = found.later ?? later;
      } catch (error) {
        if (!(error instanceof AanaError) || error.name !== 'VideoReadingException') throw error;
        failure = error;
      }
    }
    if (!later && failure) throw failure;
    return later;
  }

  /** Returns where to begin to decode for a frame at `time`: the cheapest place first, the surest one last. */
  *#placesBefore(time: number): Generator<Place> {
    const before = REWINDS_S.map((seconds) => time - seconds).filter((at) => at > 0);
    for (const at of before) yield ['-noaccurate_seek', '-ss', at.toFixed(6)];
    if (!this.#canSeek || before.length < REWINDS_S.length) yield FROM_START;
  }
}
