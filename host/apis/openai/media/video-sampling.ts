import * as z from 'zod';
import type { IdleField } from '../../openapi/index.ts';

/** Frames of a video of which a request does not say how many it wants, as in vLLM. */
const DEFAULT_FRAMES = 32;

/** A frame in 11 days: the longest interval that decoding takes. */
const LEAST_RATE = 1e-6;

const rate = z.nullish(
  z
    .union([z.literal(-1), z.number().min(LEAST_RATE).max(1000)])
    .describe('Frames in a second of the video; -1 for none.'),
);

/** The parameters that say which frames of the videos of a request the model sees, with vLLM's names. */
export const videoFields = {
  media_io_kwargs: z
    .nullish(
      z.object({
        video: z.nullish(
          z.object({
            num_frames: z.nullish(
              z
                .union([z.literal(-1), z.int().min(1)])
                .describe('Most frames, at even distances; -1 for no limit of the request.'),
            ),
            fps: rate,
            scenes: z.nullish(
              z
                .number()
                .gt(0)
                .max(1)
                .describe('How much pictures must differ for a new scene, whose first frame is taken. vLLM has none.'),
            ),
          }),
        ),
      }),
    )
    .describe(
      'Which frames of videos the model sees, as in vLLM: at most `video.num_frames`, at `video.fps` or where scenes ' +
        'begin. Default: 32 frames at even distances.',
    ),
  mm_processor_kwargs: z
    .nullish(z.object({ fps: rate }))
    .describe('`fps` is the same as in `media_io_kwargs.video`, as in vLLM.'),
};

/** Members of these parameters that have no effect. */
export const VIDEO_IDLE = {
  'mm_processor_kwargs.do_sample_frames': { why: 'frames are always chosen', neutral: [true] },
  'mm_processor_kwargs.min_pixels': { why: 'the projector of the model decides' },
  'mm_processor_kwargs.max_pixels': { why: 'the projector of the model decides' },
} as const satisfies Readonly<Record<string, IdleField>>;

/** Which frames of a video a model sees. */
export interface VideoSampling {
  /** Most frames. Undefined: as many as the server allows. */
  readonly count?: number;
  /** Frames in a second. Undefined: `count` at even distances. */
  readonly rate?: number;
  /** How much pictures must differ for a new scene, whose first frame is taken: above 0, at most 1. */
  readonly scenes?: number;
}

type Requested = { readonly [Name in keyof typeof videoFields]?: z.output<(typeof videoFields)[Name]> };

/** Returns which frames of its videos a request wants. */
export function videoSamplingOf({ media_io_kwargs: io, mm_processor_kwargs: processor }: Requested): VideoSampling {
  const { num_frames: most, fps, scenes } = io?.video ?? {};
  const given = fps ?? processor?.fps ?? -1;
  const wanted = most ?? (given > 0 || scenes != null ? -1 : DEFAULT_FRAMES);
  return {
    ...(wanted > 0 && { count: wanted }),
    ...(given > 0 && { rate: given }),
    ...(scenes != null && { scenes }),
  };
}
