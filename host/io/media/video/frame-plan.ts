import type * as z from 'zod/mini';
import { fail } from '../../../base/core/errors.ts';
import {
  checkedValue,
  FrameFileOptions,
  FrameOptions,
  validationEntries,
  validationMessage,
} from '../../../base/schemas/index.ts';
import { videoReadingError } from '../errors.ts';
import type { Probe } from '../probe.ts';
import type { MediaSource } from '../types.ts';
import { type Size, within } from '../image/size.ts';
import type { VideoTrack } from './video-track.ts';

/** Pixels that a frame has at most. Models scale images to less. */
const MAX_PIXELS = 2 ** 22;
/**
 * Seconds between frames from which on each one is sought by itself. Starting ffmpeg and decoding from a key frame
 * costs about as much as decoding this long a part.
 */
const SEEK_INTERVAL_S = 10;

/** How frames are found. */
export type FramePlan =
  | {
      /** All frames are decoded once, and a filter chooses among them. */
      readonly kind: 'decode';
      /** An expression of ffmpeg's filter `select`. */
      readonly select: string;
      readonly onlyKeyframes: boolean;
      /** Seconds of the intervals of which each has one frame. Undefined: the filter alone chooses. */
      readonly interval?: number;
      readonly most: number;
    }
  | {
      /** Each frame is sought by its time. */
      readonly kind: 'seek';
      /** Seconds from the start of the file. */
      readonly times: Iterable<number>;
      /** Which frame belongs to a time: the one that a player shows then, or the first one from then on. */
      readonly which: 'shown' | 'first';
    };

/** Returns the options of a caller, checked. Throws `InvalidArguments`. */
export const frameOptions = (given: unknown): FrameOptions => checked(FrameOptions, given);
export const frameFileOptions = (given: unknown): FrameFileOptions => checked(FrameFileOptions, given);

function checked<T>(schema: z.core.$ZodType<T>, given: unknown): T {
  const { value, issues } = checkedValue(schema, given);
  if (!issues) return value;
  throw fail('InvalidArguments', `the options of frames: ${validationMessage(validationEntries(issues, given))}`);
}

/**
 * Returns how to find the frames. Throws `VideoReadingException` for `count` where the file does not say its duration.
 */
export function planFrames(options: FrameOptions, { info, start = 0 }: Probe, source: MediaSource): FramePlan {
  const { every, count, times, scenes } = options;
  if (times) return { kind: 'seek', times, which: 'shown' };
  if (count !== undefined) {
    const { duration } = info;
    if (duration === undefined)
      throw videoReadingError(
        source,
        'the file does not say how long the video is, so its frames cannot be chosen by count; choose them by "every"',
      );
    return atIntervals(duration / count, duration, start, count);
  }
  if (every !== undefined) return atIntervals(every, info.duration, start, Infinity);
  const decode = { kind: 'decode', most: Infinity } as const;
  if (scenes === undefined) return { ...decode, select: '1', onlyKeyframes: true };
  return { ...decode, select: `isnan(prev_selected_t)+gt(scene,${scenes})`, onlyKeyframes: false };
}

function atIntervals(seconds: number, duration: number | undefined, start: number, most: number): FramePlan {
  if (duration !== undefined && seconds >= SEEK_INTERVAL_S)
    return { kind: 'seek', times: timesOf(seconds, most), which: 'first' };
  // A microsecond earlier, because times are rounded.
  const interval = (time: string): string => `floor((${time}-${start}+1e-6)/${seconds})`;
  const select = `isnan(prev_selected_t)+gt(${interval('t')},${interval('prev_selected_t')})`;
  return { kind: 'decode', select, onlyKeyframes: false, interval: seconds, most };
}

/** Without an end, unless so many are wanted: some files say too short a duration. */
function* timesOf(seconds: number, most: number): Generator<number> {
  for (let at = 0; at < most; at++) yield at * seconds;
}

/** Returns the size of the frames: that of the track, or a smaller one with the same ratio. */
export function frameSize(
  { size }: VideoTrack,
  { max_width: maxWidth, max_height: maxHeight }: FrameOptions,
  source: MediaSource,
): Size {
  if (!size) throw videoReadingError(source, 'the file does not say how large the pictures of its video are');
  return within(size, maxWidth, maxHeight, MAX_PIXELS);
}
