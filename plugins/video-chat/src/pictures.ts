import { type Context, type Frame, HostError, type Image, type NewCaption, type Video, z } from 'aana-host/plugin';

/** The defaults of the original. */
const USUAL = { extract_fps: 3, fast_mode_enabled: true };

/** Which frames of a video are looked at. */
export const VideoParams = z.strictObject({
  extract_fps: z._default(
    z.number().check(z.gt(0), z.maximum(60), z.describe('Frames of each second.')),
    USUAL.extract_fps,
  ),
  fast_mode_enabled: z._default(
    z.boolean().check(z.describe('Only keyframes, which take less time. `extract_fps` then has no effect.')),
    USUAL.fast_mode_enabled,
  ),
});
export type VideoParams = z.infer<typeof VideoParams>;

/** The kind of captions that are texts in pictures, word for word. */
export const SLIDE_TEXT = 'slide_text';

/** Frames that are looked at together. */
const BATCH = 8;
/** More pixels take longer, and make no text readable. */
const MAX_SIDE = 1280;
/**
 * Frames that are compared, and that are decoded, at most. A run has 30 s of computing time; to compare a frame counts
 * 10 ms, and to decode it 10 ms and what the video between the frames takes.
 */
const MOST = { compared: 400, decoded: 600 } as const;
/** Seconds of a video whose keyframes are not too many: most have one in two seconds or fewer. */
const LONG_S = 1200;
/** The size in which frames are compared: a line of a slide covers several pixels of it. */
const SMALL = { width: 64, height: 36 } as const;
/** Smaller differences of a pixel, of 255, come from the encoding of a video. */
const NOISE = 8;
/** Characters of a caption that the application's tables take. */
const MAX_CAPTION = 16_384;

/** The application has no such deployment, or its operator keeps it from the plugin. */
const ABSENT: readonly string[] = ['DeploymentNotFound', 'DeploymentDenied'];

/** A deployment that says something about pictures. */
interface Looker {
  readonly deployment: string;
  /** The kind of its captions. */
  readonly type: string;
  /** Returns a text for each image, which may be empty. */
  look(ctx: Context, images: readonly Image[]): Promise<readonly string[]>;
}

const LOOKERS: readonly Looker[] = [
  {
    deployment: 'captioning_deployment',
    type: 'caption',
    async look(ctx, images) {
      const captioning = ctx.deployment('captioning_deployment');
      const { captions } = await captioning.call<{ captions: string[] }>('generate_captions_batch', { images });
      return captions;
    },
  },
  {
    deployment: 'ocr_deployment',
    type: SLIDE_TEXT,
    async look(ctx, images) {
      const { images: pages } = await ctx.ocr.recognizeBatch(images);
      return pages.map(({ lines }) => lines.map(({ text }) => text).join('\n'));
    },
  },
];

/**
 * Says what the pictures of a video show, batch by batch, with the deployments that there are. A picture that looks as
 * the one before it, and a text that is there already, are left out.
 */
export async function* shownIn(
  video: Video,
  params: VideoParams | null | undefined,
  ctx: Context,
): AsyncGenerator<readonly NewCaption[]> {
  const looking = LOOKERS.map((looker) => new Looking(looker));
  for await (const frames of batches(changedFrames(video, params ?? USUAL, ctx))) {
    const found = await Promise.all(looking.map((one) => one.look(ctx, frames)));
    for (const { image } of frames) image[Symbol.dispose]();
    if (looking.every(({ isAbsent }) => isAbsent)) return;
    const captions = found.flat().sort((a, b) => a.frame_id - b.frame_id);
    if (captions.length > 0) yield captions;
  }
}

class Looking {
  readonly #looker: Looker;
  #last = '';
  /** Whether the application has no such deployment. */
  isAbsent = false;

  constructor(looker: Looker) {
    this.#looker = looker;
  }

  async look(ctx: Context, frames: readonly NumberedFrame[]): Promise<NewCaption[]> {
    if (this.isAbsent) return [];
    const { deployment, type } = this.#looker;
    let texts: readonly string[];
    try {
      const images = frames.map(({ image }) => image);
      texts = await this.#looker.look(ctx, images);
    } catch (error) {
      if (!(error instanceof HostError && ABSENT.includes(error.name))) throw error;
      this.isAbsent = true;
      return [];
    }
    return frames.flatMap(({ number, time }, n) => {
      const caption = (texts[n] ?? '').trim().slice(0, MAX_CAPTION);
      const isNew = caption !== '' && caption !== this.#last;
      this.#last = caption;
      return isNew ? { model: deployment, caption_type: type, frame_id: number, timestamp: time, caption } : [];
    });
  }
}

interface NumberedFrame extends Frame {
  /** Its place among the frames that were chosen. */
  readonly number: number;
}

/** The chosen frames without those that look as the last one that was not left out, and without some of too many. */
async function* changedFrames(
  video: Video,
  { extract_fps: rate, fast_mode_enabled: isFast }: VideoParams,
  ctx: Context,
): AsyncGenerator<NumberedFrame> {
  const { duration = 0 } = video.info;
  const leastGap = duration / MOST.compared;
  const areKeyframes = isFast && duration <= LONG_S;
  const choice = areKeyframes ? { keyframes: true as const } : { every: Math.max(isFast ? 0 : 1 / rate, leastGap) };
  let last: Uint8Array | undefined;
  let comparedAt = -Infinity;
  let number = 0;
  for await (const { time, image } of video.frames({ ...choice, max_width: MAX_SIDE, max_height: MAX_SIDE })) {
    if (number === MOST.decoded)
      return ctx.log.warn('the pictures after this time are not looked at, because there are too many', { time });
    if (areKeyframes && time - comparedAt < leastGap) image[Symbol.dispose]();
    else {
      const pixels = await image.pixels(SMALL);
      comparedAt = time;
      if (last && pixels.every((value, at) => Math.abs(value - last![at]!) <= NOISE)) image[Symbol.dispose]();
      else {
        last = pixels;
        yield { time, image, number };
      }
    }
    number += 1;
  }
}

async function* batches<T>(values: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const value of values) {
    batch.push(value);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
