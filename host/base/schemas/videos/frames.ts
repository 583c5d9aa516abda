import * as z from 'zod/mini';
import { fileForm } from './file-form.ts';

/** Times, and frames by count, of one request. */
const MAX_FRAMES = 10_000;
/** Pixels of a side, as images for models have them at most. */
const MAX_SIDE = 32_768;

const side = (what: string): z.ZodMiniOptional<z.ZodMiniNumber> =>
  z.optional(z.int().check(z.minimum(1), z.maximum(MAX_SIDE), z.describe(`Most pixels of the ${what}.`)));

const CHOICES = ['every', 'count', 'times', 'scenes', 'keyframes'] as const;

const choice = {
  every: z.optional(
    z.number().check(z.positive(), z.describe('Seconds. The first frame of each interval of this length.')),
  ),
  count: z.optional(
    z.int().check(z.minimum(1), z.maximum(MAX_FRAMES), z.describe('The first frame of each of so many equal parts.')),
  ),
  times: z.optional(
    z
      .array(z.number().check(z.minimum(0), z.maximum(1e7)))
      .check(z.maxLength(MAX_FRAMES), z.describe('Seconds. The frame that a player shows at each of these times.')),
  ),
  scenes: z.optional(
    z
      .number()
      .check(
        z.minimum(0),
        z.maximum(1),
        z.describe('The first frame, and each one that differs from the one before it by more than this.'),
      ),
  ),
  keyframes: z.optional(z.literal(true)),
  max_width: side('width'),
  max_height: side('height'),
};
const onlyOne = z.refine<{ readonly [name in (typeof CHOICES)[number]]?: unknown }>(
  (options) => CHOICES.filter((name) => options[name] !== undefined).length === 1,
  { error: `exactly one of ${CHOICES.join(', ')} must be given` },
);

/** Which frames of a video, and how large. Exactly one of the first five members chooses the frames. */
export const FrameOptions = z.strictObject(choice).check(onlyOne);
export type FrameOptions = z.infer<typeof FrameOptions>;

/** Which frames of a video, how large, and of which form their files are. */
export const FrameFileOptions = z.strictObject({ ...choice, ...fileForm }).check(onlyOne);
export type FrameFileOptions = z.infer<typeof FrameFileOptions>;

/** A track of a media file. */
export interface MediaTrack {
  readonly kind: 'video' | 'audio' | 'subtitle';
  /** As ffmpeg names it, such as `h264`. */
  readonly codec: string;
  /** As the file says it, such as `eng`. */
  readonly language?: string;
}

/** A part of a recording that its file names. */
export interface Chapter {
  /** Seconds from the start of the file. */
  readonly start: number;
  readonly end: number;
  readonly title?: string;
}

/** All facts about a media file. What it does not say is absent. Its texts are of strangers. */
export interface VideoFacts {
  /** Seconds. */
  readonly duration?: number;
  readonly has_audio: boolean;
  readonly has_video: boolean;
  /** Pixels of the pictures as a player shows them: square, and turned as the file says. */
  readonly width?: number;
  readonly height?: number;
  /** Frames in a second on average. */
  readonly frame_rate?: number;
  /** In the order of the file. */
  readonly tracks: readonly MediaTrack[];
  readonly chapters: readonly Chapter[];
  /** From the page of the video, or else from the file. */
  readonly title?: string;
  readonly description?: string;
}
