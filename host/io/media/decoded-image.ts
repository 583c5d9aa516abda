import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { artifactOf } from '../artifacts/index.ts';
import type { Artifact, ImageEncoding, ImageReference } from '../../base/schemas/index.ts';
import { imageReadingError } from './errors.ts';
import { type Size, within } from './image/size.ts';
import type { ImageInfo, ImageMedia, MediaSource, MediaWorkOptions } from './types.ts';

/** Pixels that an image for a model has at most. Models scale images to less. */
const MAX_PIXELS = 2 ** 22;
/** How many times the longer side may be as long as the shorter one. Models divide images into squares. */
const MAX_RATIO = 200;

/**
 * Returns the size in which a model gets an image: its own, or a smaller one with the same ratio. Throws
 * `ImageReadingException` for an image that is extremely long.
 */
export function sizeForModel({ width, height }: ImageInfo, source: MediaSource): Size {
  if (Math.max(width, height) > MAX_RATIO * Math.min(width, height))
    throw imageReadingError(
      source,
      `the image has ${width} × ${height} pixels; models take images whose longer side is at most ${MAX_RATIO} ` +
        `times the shorter one`,
    );
  return within({ width, height }, Infinity, Infinity, MAX_PIXELS);
}

/** Writes pixels to the new file `file` below `root`. Returns them as an argument of `chat`. */
export async function writePixels(
  pixels: Uint8Array,
  size: { readonly width: number; readonly height: number },
  { root, file }: { readonly root: string; readonly file: string },
): Promise<ImageReference> {
  await writeFile(file, pixels, { flag: 'wx', mode: 0o600 });
  return { pixels: await artifactOf(root, file, createHash('sha256').update(pixels).digest('hex')), ...size };
}

/** A decoded image, as an argument of `chat`. Disposing it removes its file. */
export interface HeldImage extends ImageReference, AsyncDisposable {
  /** Returns the file of the image in another form. Throws `InvalidArguments`. */
  encode(encoding: ImageEncoding, options?: MediaWorkOptions): Promise<Uint8Array>;
}

/** A decoded image as a part of a dialog, in this process and as JSON. Disposing it removes its file. */
export class DecodedImage implements HeldImage {
  readonly pixels: Artifact;
  readonly width: number;
  readonly height: number;
  readonly #encode: ImageMedia['encode'];
  readonly #remove: () => Promise<void>;

  constructor({ pixels, width, height }: ImageReference, encode: ImageMedia['encode'], remove: () => Promise<void>) {
    this.pixels = pixels;
    this.width = width;
    this.height = height;
    this.#encode = encode;
    this.#remove = remove;
  }

  encode(encoding: ImageEncoding, options?: MediaWorkOptions): Promise<Uint8Array> {
    return this.#encode(encoding, options);
  }

  /** Removes the file. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}
