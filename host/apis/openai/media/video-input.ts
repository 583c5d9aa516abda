import { invalidValue } from '../fields.ts';
import type { DecodedFrame, ImageScope, OpenedVideo, VideoScope } from '../http/openai-options.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';
import type { MediaOptions } from './media-input.ts';
import { isPictureList, type VideoFrame, type VideoPart } from './media-part.ts';

/** Frames in a second of a video whose duration nobody knows. */
const DEFAULT_RATE = 1;

/** The files of the videos of a request, and of pictures that it gives in their place. */
export interface VideoScopes {
  readonly videos: VideoScope;
  readonly pictures: ImageScope;
}

interface Opening {
  readonly scopes: VideoScopes;
  readonly options: MediaOptions;
  /** Most frames of the video. */
  readonly most: number;
  readonly signal: AbortSignal;
}

/** Returns the frames of a video that the model sees. `given` are the bytes that are in the request. */
export async function openVideo(
  part: VideoPart,
  given: readonly Buffer[] | undefined,
  { scopes, options, most, signal }: Opening,
): Promise<VideoFrame[]> {
  const decoded = async (source: Parameters<VideoScope['open']>[0]): Promise<VideoFrame[]> =>
    framesOf(await scopes.videos.open(source, signal), part, most, signal);
  if (!given) return decoded({ url: part.url });
  const written = <T>(bytes: Buffer, read: (file: { path: string; bytes: number }) => Promise<T>): Promise<T> =>
    withTemporaryFile(bytes, options, (path) => read({ path, bytes: bytes.length }));
  if (!isPictureList(part)) return written(given[0]!, decoded);
  const pictures: VideoFrame[] = [];
  for (const picture of given) pictures.push(await written(picture, (file) => scopes.pictures.open(file, signal)));
  return pictures;
}

/**
 * Decodes the frames of a video that a request wants, at most `allowed`: more than that are thinned evenly. Throws
 * `InvalidParameter` for a video without pictures, and the errors of decoding.
 */
async function framesOf(
  video: OpenedVideo,
  { param, maxSide, sampling: { scenes, rate, count } }: VideoPart,
  allowed: number,
  signal: AbortSignal,
): Promise<VideoFrame[]> {
  const most = Math.min(count ?? allowed, allowed);
  const choice = scenes === undefined ? choiceOf(video.duration, rate, most) : { scenes };
  const kept = new EvenlyKept(most);
  for await (const frame of video.frames({ ...choice, max_width: maxSide, max_height: maxSide }, { signal }))
    for (const left of kept.add(frame)) await left.image[Symbol.asyncDispose]();
  if (kept.frames.length === 0) throw invalidValue(param, 'the video has no pictures');
  return Promise.all(kept.frames.map(async ({ time, image }) => ({ time, image: await image.forModel({ signal }) })));
}

/** Chooses frames at a rate, or so many at even distances. A file that does not say its duration has a rate. */
function choiceOf(duration: number | undefined, rate: number | undefined, most: number) {
  if (duration === undefined) return { every: 1 / (rate ?? DEFAULT_RATE) };
  return rate !== undefined && duration * rate <= most ? { every: 1 / rate } : { count: most };
}

/** Keeps so many of frames whose number is not known before, at even distances in their order. */
class EvenlyKept {
  readonly #most: number;
  #frames: DecodedFrame[] = [];
  /** Of so many frames one is kept. */
  #stride = 1;
  #added = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the frames that are not kept any more. */
  add(frame: DecodedFrame): DecodedFrame[] {
    const isKept = this.#added++ % this.#stride === 0;
    if (!isKept) return [frame];
    this.#frames.push(frame);
    if (this.#frames.length <= this.#most) return [];
    const left = this.#frames.filter((_, n) => n % 2 === 1);
    this.#frames = this.#frames.filter((_, n) => n % 2 === 0);
    this.#stride *= 2;
    return left;
  }

  get frames(): readonly DecodedFrame[] {
    return this.#frames;
  }
}
