import { fail } from '../../../base/core/errors.ts';
import { checkedValue, ImageEncoding, validationEntries, validationMessage } from '../../../base/schemas/index.ts';
import { DEFAULT_QUALITY } from '../../../base/schemas/videos/file-form.ts';
import { imageReadingError, imageTooLargeError } from '../errors.ts';
import type { MediaSource } from '../types.ts';
import { type Size, within } from './size.ts';

/** What ffmpeg makes of a picture. */
export interface Conversion {
  readonly size: Size;
  /** ffmpeg's options for the codec of the output. */
  readonly codec: readonly string[];
  /** Bytes of the result: exactly so many of pixels, at most so many of a file. */
  readonly bytes: number;
}

/** Limit of the pixels of a result. Those that a guest gets take 12 MiB of its memory. */
const MAX_PIXELS = 2 ** 22;
/** Bytes of an encoded image beside those of its pixels. */
const SPARE_BYTES = 1024 * 1024;

/**
 * To red, green and blue of each pixel, row by row from the top, without transparency. Throws `ImageReadingException`
 * for an empty size and `ImageTooLargeException`.
 */
export function toPixels({ width, height }: Size, source: MediaSource): Conversion {
  if (!(width >= 1 && height >= 1))
    throw imageReadingError(source, `an image cannot be scaled to ${width} × ${height} pixels`);
  if (width * height > MAX_PIXELS)
    throw imageTooLargeError(
      source,
      `an image cannot be scaled to ${width} × ${height} pixels, because that is too large`,
      MAX_PIXELS,
    );
  return { size: { width, height }, codec: ['-c:v', 'rawvideo', '-pix_fmt', 'rgb24'], bytes: 3 * width * height };
}

/** To a file of another form, without transparency. Throws `InvalidArguments` for an encoding that is not valid. */
export function toFile(picture: Size, encoding: ImageEncoding): Conversion {
  const { format, quality = DEFAULT_QUALITY, max_width: width, max_height: height } = checkedEncoding(encoding);
  const size = within(picture, width, height, MAX_PIXELS);
  // ffmpeg's scale of a JPEG goes from 2, the best, to 31.
  const jpeg = ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj444p', '-q:v', String(2 + ((100 - quality) * 29) / 99)];
  const codec = format === 'jpeg' ? jpeg : ['-c:v', 'png', '-pix_fmt', 'rgb24'];
  return { size, codec, bytes: 4 * size.width * size.height + SPARE_BYTES };
}

function checkedEncoding(given: unknown): ImageEncoding {
  const { value, issues } = checkedValue(ImageEncoding, given);
  if (value) return value;
  throw fail('InvalidArguments', `the encoding of an image: ${validationMessage(validationEntries(issues, given))}`);
}

/** Returns ffmpeg's filter that scales a picture. */
export const scaledTo = ({ width, height }: Size): string => `scale=${width}:${height}:flags=area`;
