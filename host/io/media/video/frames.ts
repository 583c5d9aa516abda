import { AanaError } from '../../../base/core/errors.ts';
import type { FrameFileOptions, FrameOptions, ImageEncoding } from '../../../base/schemas/index.ts';
import { mediaTooLongError } from '../errors.ts';
import type { Probe } from '../probe.ts';
import type { FrameWorkOptions, MediaSource } from '../types.ts';
import { FrameDecoder, type RawFrame } from './frame-decoder.ts';
import { type FramePlan, frameSize, planFrames } from './frame-plan.ts';
import { type Conversion, toFile, toPixels } from '../image/conversion.ts';
import type { Size } from '../image/size.ts';
import type { Pausable } from './in-turns.ts';
import type { Spare } from './picture-process.ts';
import { shownTrack, type VideoTrack } from './video-track.ts';

export interface DecodeFramesOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly maxDurationS: number;
  readonly signal: AbortSignal;
  /** Memory for the next frame. */
  readonly spare: Spare;
  readonly onDecoded?: FrameWorkOptions['onDecoded'];
}

/** Seconds that a video may be longer than the limit, because durations are rounded. */
const SPARE_SECONDS = 1;
/** A moment before the first frame of a file whose times begin late. */
const ROUNDING_S = 1e-3;
/** Frames before a time among which the one that is shown is expected. */
const FRAMES_NEAR = 2.5;
/** Frames in a second where the file does not say it. */
const DEFAULT_RATE = 25;
/** Frames in a second of almost all videos, at most. */
const MAX_RATE = 60;
/** Frames from a key frame to a time, about. */
const SOUGHT_FRAMES = 100;
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
  /** Whether each is sought by itself, which costs the start of a process. */
  readonly areSought: boolean;
  /** What decodes them now. */
  readonly decoder: Pausable;
  /** Times are seconds from the start of the file. */
  readonly frames: AsyncGenerator<RawFrame, void, undefined>;
}

/**
 * Chooses frames of the file at `path`, each of which is decoded when it is asked for. A file without a video track has
 * none. Throws `VideoReadingException` and `MediaTooLongException`, also while frames are read.
 */
export function chooseFrames(
  path: string,
  probe: Probe,
  options: FrameOptions | FrameFileOptions,
  decoding: DecodeFramesOptions,
): ChosenFrames {
  const { source, maxDurationS } = decoding;
  const { duration } = probe.info;
  const track = shownTrack(probe.videoTracks);
  if (!track) return { size: { width: 1, height: 1 }, decoder: idle, areSought: false, frames: none() };
  if (duration !== undefined && duration > maxDurationS + SPARE_SECONDS)
    throw mediaTooLongError(source, maxDurationS, duration);
  const size = frameSize(track, options, source);
  const plan = planFrames(options, probe, source);
  const to = 'format' in options ? toFile(size, formOf(options)) : toPixels(size, source);
  const decoder = new Decoding(path, probe, track, to, decoding);
  if (plan.kind === 'seek') return { size, decoder, areSought: true, frames: sought(decoder, plan) };
  return { size, decoder, areSought: false, frames: decoded(decoder, plan) };
}

const formOf = ({ format, quality }: FrameFileOptions): ImageEncoding => ({
  format,
  ...(quality !== undefined && { quality }),
});

const idle: Pausable = { pause: () => false, continue() {} };

async function* none(): AsyncGenerator<RawFrame, void, undefined> {}

async function* decoded(
  decoding: Decoding,
  { select, onlyKeyframes, interval, most }: FramePlan & { readonly kind: 'decode' },
): AsyncGenerator<RawFrame, void, undefined> {
  await using decoder = decoding.decode(select, onlyKeyframes ? ['-skip_frame', 'nokey'] : []);
  let last = -1;
  let decodedUntil = 0;
  const tell = (until: number): void => {
    decoding.tellDecoded(onlyKeyframes ? 1 : Math.max(1, decoding.framesIn(until - decodedUntil)));
    decodedUntil = until;
  };
  for (let count = 0; count < most;) {
    const next = await decoder.next();
    if (!next) {
      tell(Math.max(decodedUntil, decoding.duration ?? 0));
      return;
    }
    const frame = decoding.placed(next);
    tell(frame.time);
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
      const behindEnd = Math.max(0, (frame?.time ?? 0) - (decoding.duration ?? Infinity));
      decoding.tellDecoded(SOUGHT_FRAMES + decoding.framesIn(behindEnd));
      if (frame) yield frame;
    }
    return;
  }
  let last = -1;
  for (const time of times) {
    if (time <= last) continue; // no frame begins between this time and the last frame
    const frame = await decoding.firstFrom(time);
    decoding.tellDecoded(SOUGHT_FRAMES);
    if (!frame) return;
    last = frame.time;
    yield frame;
  }
}

/** What decoding from one place has found. */
interface Found {
  readonly frame?: RawFrame | undefined;
  /** One that begins too late: another place may have an earlier one. */
  readonly later?: RawFrame | undefined;
  /** Whether no place has one. */
  readonly isNone?: boolean;
}

/** Runs ffmpeg for the frames of one track. */
class Decoding implements Pausable {
  readonly #path: string;
  readonly #start: number;
  /** Seconds. Undefined if the file does not say it. */
  readonly duration: number | undefined;
  readonly #track: VideoTrack;
  readonly #to: Conversion;
  readonly #options: DecodeFramesOptions;
  /** Whether a frame was found by seeking, so that the file has an index. */
  #canSeek = false;
  #running: FrameDecoder | undefined;

  constructor(
    path: string,
    { start = 0, info }: Probe,
    track: VideoTrack,
    to: Conversion,
    options: DecodeFramesOptions,
  ) {
    this.#path = path;
    this.#start = start;
    this.duration = info.duration;
    this.#track = track;
    this.#to = to;
    this.#options = options;
  }

  decode(select: string, before: readonly string[]): FrameDecoder {
    const { ffmpegPath, source, maxDurationS, spare, signal } = this.#options;
    this.#running = new FrameDecoder({
      ...{ ffmpegPath, source, spare, signal, path: this.#path, track: this.#track, to: this.#to, before, select },
      // One thread decodes a second of 4K video in up to 3 s.
      cpuSeconds: 60 + 4 * maxDurationS,
    });
    return this.#running;
  }

  /** Returns about how many frames so many seconds have. Some files of a variable rate say far too much. */
  framesIn(seconds: number): number {
    return seconds * Math.min(this.#track.frameRate ?? DEFAULT_RATE, MAX_RATE);
  }

  /** Tells that so many frames were decoded. */
  tellDecoded(frames: number): void {
    const { width, height } = this.#track.size ?? this.#to.size;
    this.#options.onDecoded?.(frames * width * height);
  }

  pause(): boolean {
    return this.#running?.pause() ?? false;
  }

  continue(): void {
    this.#running?.continue();
  }

  /** Returns the frame with its time from the start of the file. Throws for one beyond the limit. */
  placed(frame: RawFrame): RawFrame {
    const { source, maxDurationS } = this.#options;
    const time = Math.max(0, Math.round((frame.time - this.#start) * 1e6) / 1e6);
    if (time > maxDurationS + SPARE_SECONDS) throw mediaTooLongError(source, maxDurationS);
    return { time, bytes: frame.bytes };
  }

  /**
   * Returns the frame that a player shows at `time`: the last one that begins until then, or the first one of all. It
   * is usually within the last frames before; a video that stands still needs those from the key frame on.
   */
  async shownAt(time: number): Promise<RawFrame | undefined> {
    const until = time + ROUNDING_S;
    // Some files say too short a duration, so frames behind it count, too.
    const sought = Math.min(time, this.duration ?? Infinity) + ROUNDING_S;
    const near = sought - this.#lengthOf(FRAMES_NEAR);
    return this.#seek(sought, async (place) => {
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
      return { isNone: isSure };
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
      last = frame;
    }
    return last ? { last } : {};
  }

  /** Returns the frame that `find` finds from one of the places, or else the one that begins too late. */
  async #seek(time: number, find: (place: Place) => Promise<Found>): Promise<RawFrame | undefined> {
    let later: RawFrame | undefined;
    let failure: unknown;
    for (const place of this.#placesBefore(time)) {
      try {
        const found = await find(place);
        if (found.frame) {
          this.#canSeek ||= place !== FROM_START;
          return found.frame;
        }
        if (found.isNone) return undefined;
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
