import * as z from 'zod/mini';
import type { FrameOptions } from './frames.ts';

/** How frames of a video are chosen, with the names of the original. */
export const VideoParams = z.strictObject({
  extract_fps: z._default(z.number().check(z.positive(), z.maximum(1000)), 3),
  fast_mode_enabled: z
    ._default(z.boolean(), true)
    .check(z.describe('Whether only key frames are extracted. `extract_fps` then has no effect.')),
});
export type VideoParams = z.infer<typeof VideoParams>;

/** Returns the options of `video.frames` that have the same meaning. */
export function frameOptionsOf({ extract_fps: rate, fast_mode_enabled: isFast }: VideoParams): FrameOptions {
  return isFast ? { keyframes: true } : { every: 1 / rate };
}

/** What is known of a video before it is opened. */
export const VideoMetadata = z.strictObject({
  title: z._default(z.nullable(z.string()), null).check(z.describe('The title of the video.')),
  description: z._default(z.nullable(z.string()), null).check(z.describe('The description of the video.')),
  duration: z._default(z.nullable(z.number().check(z.minimum(0))), null).check(z.describe('Seconds.')),
});
export type VideoMetadata = z.infer<typeof VideoMetadata>;
