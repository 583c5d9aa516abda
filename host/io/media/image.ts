import { open } from 'node:fs/promises';
import { AanaError, fail } from '../../base/core/errors.ts';
import { checkedValue, ImageEncoding, validationEntries, validationMessage } from '../../base/schemas/index.ts';
import { imageReadingError, imageTooLargeError } from './errors.ts';
import { exifOrientation, isOnItsSide, turningFilters } from './image/exif-orientation.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { complaint, type ProbeOptions } from './probe.ts';
import { type Size, within } from './image/size.ts';
import type { ImageInfo, MediaSource } from './types.ts';

const PROBE_TIMEOUT_MS = 30_000;
const PROBE_CPU_SECONDS = 10;
/** Limit of the pixels that a guest gets; they take 12 MiB of its memory. */
const MAX_PIXELS = 2 ** 22;
/** Bytes of an encoded image beside those of its pixels. */
const SPARE_BYTES = 1024 * 1024;
/** Of a JPEG, from 1 to 100. */
const DEFAULT_QUALITY = 85;
/** The beginning of a file in which the data of Exif are. A segment has at most 64 KiB. */
const EXIF_BYTES = 128 * 1024;
/** Limit of the pixels to decode; they take 256 MiB of the decoder's memory. */
const MAX_DECODED_PIXELS = 2 ** 26;

/**
 * Demuxers for one image in one file, and media types, by the first bytes of the file. ffmpeg gets the names of the
 * demuxers, because its default demuxer would read file names as patterns.
 */
const FORMATS: readonly (readonly [start: RegExp, demuxer: string, type: string])[] = [
  [/^\x89PNG\r\n/, 'png_pipe', 'image/png'],
  [/^\xff\xd8\xff/, 'jpeg_pipe', 'image/jpeg'],
  [/^GIF8[79]a/, 'gif', 'image/gif'],
  [/^RIFF[\s\S]{4}WEBP/, 'webp_pipe', 'image/webp'],
  [/^BM/, 'bmp_pipe', 'image/bmp'],
  [/^[\s\S]{4}ftyp(?:avif|avis)/, 'mov', 'image/avif'],
  [/^[\s\S]{4}ftyp(?:heic|heix|mif1)/, 'mov', 'image/heic'],
];

/** The format of a file with the red, green and blue of each pixel. */
export const RAW_FORMAT = 'rawvideo';

/** Describes the image at `path`. Throws `ImageReadingException` if the file is not an image. */
export async function probeImage(path: string, { ffmpegPath, source, signal }: ProbeOptions): Promise<ImageInfo> {
  const demuxer = demuxerOf(await firstBytes(path));
  if (demuxer === undefined)
    throw imageReadingError(
      source,
      'the file is not an image that can be read (PNG, JPEG, GIF, WebP, BMP, AVIF or HEIC)',
    );
  const limits = { signal, timeoutMs: PROBE_TIMEOUT_MS, cpuSeconds: PROBE_CPU_SECONDS };
  const { stderr } = await runFfmpeg(ffmpegPath, ['-format_whitelist', demuxer, '-f', demuxer], path, [], limits).catch(
    (error: unknown) => {
      if (error instanceof AanaError && error.name === 'ProcessTimeout')
        throw imageReadingError(source, 'reading the image took too long', error);
      throw error;
    },
  );
  const info = parseImage(stderr);
  if (!info) throw imageReadingError(source, `the image cannot be read (${complaint(stderr, path)})`);
  if (/^ {2}Stream group #0:0.*: Tile Grid:/m.test(stderr))
    throw imageReadingError(source, 'the image is made of tiles, which cannot be joined here; save it as a JPEG');
  return isOnItsSide(await orientationAt(path))
    ? { width: info.height, height: info.width, format: info.format }
    : info;
}

/**
 * Scales the image at `path` and returns red, green and blue of each pixel, row by row from the top, without
 * transparency. Throws `ImageTooLargeException`, or `ImageReadingException` if the image cannot be decoded.
 */
export async function imagePixels(
  path: string,
  info: ImageInfo,
  size: Size,
  options: ProbeOptions,
): Promise<Uint8Array> {
  const bytes = 3 * size.width * size.height;
  const output = ['-pix_fmt', 'rgb24', '-f', 'rawvideo'];
  const { stdout, reason } = await convert(path, info, size, output, bytes, options);
  if (stdout.length !== bytes) throw imageReadingError(options.source, `the image cannot be decoded (${reason})`);
  return stdout;
}

/**
 * Returns the file of the image in another form, without transparency. Throws `InvalidArguments` for an encoding that
 * is not valid, and the errors of {@link imagePixels}.
 */
export async function encodeImage(
  path: string,
  info: ImageInfo,
  encoding: ImageEncoding,
  options: ProbeOptions,
): Promise<Uint8Array> {
  const { format, quality = DEFAULT_QUALITY, max_width: width, max_height: height } = checkedEncoding(encoding);
  const size = within(info, width, height, MAX_PIXELS);
  // ffmpeg's scale of a JPEG goes from 2, the best, to 31.
  const jpeg = ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj444p', '-q:v', String(2 + ((100 - quality) * 29) / 99)];
  const output = format === 'jpeg' ? jpeg : ['-c:v', 'png', '-pix_fmt', 'rgb24'];
  const mostBytes = 4 * size.width * size.height + SPARE_BYTES;
  const { stdout, reason } = await convert(path, info, size, [...output, '-f', 'image2pipe'], mostBytes, options);
  if (stdout.length === 0) throw imageReadingError(options.source, `the image cannot be encoded (${reason})`);
  return stdout;
}

function checkedEncoding(given: unknown): ImageEncoding {
  const { value, issues } = checkedValue(ImageEncoding, given);
  if (value) return value;
  throw fail('InvalidArguments', `the encoding of an image: ${validationMessage(validationEntries(issues, given))}`);
}

/** Returns the first picture of the file in this size, as ffmpeg's options of the output say. */
async function convert(
  path: string,
  info: ImageInfo,
  { width, height }: Size,
  output: readonly string[],
  mostBytes: number,
  { ffmpegPath, source, signal }: ProbeOptions,
): Promise<{ readonly stdout: Uint8Array; readonly reason: string }> {
  if (!(width >= 1 && height >= 1))
    throw imageReadingError(source, `an image cannot be scaled to ${width} × ${height} pixels`);
  if (width * height > MAX_PIXELS)
    throw imageTooLargeError(
      source,
      `an image cannot be scaled to ${width} × ${height} pixels, because that is too large`,
      MAX_PIXELS,
    );
  if (info.width * info.height > MAX_DECODED_PIXELS)
    throw imageTooLargeError(
      source,
      `the image has ${info.width} × ${info.height} pixels, which is too large to decode`,
      MAX_DECODED_PIXELS,
    );
  const before = ['-v', 'error', '-noautorotate', ...(await inputOf(path, info, source))];
  const filters = [...(turningFilters[await orientationAt(path)] ?? []), `scale=${width}:${height}:flags=area`];
  const after = ['-map', '0:v:0', '-frames:v', '1', '-vf', filters.join(','), ...output, 'pipe:1'];
  const limits = { signal, timeoutMs: PROBE_TIMEOUT_MS, cpuSeconds: PROBE_CPU_SECONDS, maxStdoutBytes: mostBytes };
  const { stdout, stderr } = await runFfmpeg(ffmpegPath, before, path, after, limits).catch((error: unknown) => {
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw imageReadingError(source, 'decoding the image took too long', error);
    throw error;
  });
  return { stdout, reason: complaint(stderr, path) };
}

/** Reads ffmpeg's description of an image: `Stream #0:0: Video: png, rgba(pc), 640x480, …`. */
export function parseImage(stderr: string): ImageInfo | undefined {
  const [, format, width, height] = /^ {2,4}Stream #0:0\S*: Video: (\w+)\b.*?, (\d+)x(\d+)\b/m.exec(stderr) ?? [];
  return format !== undefined && Number(width) > 0 && Number(height) > 0
    ? { width: Number(width), height: Number(height), format }
    : undefined;
}

/** Returns the options with which ffmpeg reads the image and nothing else. */
async function inputOf(path: string, { format, width, height }: ImageInfo, source: MediaSource): Promise<string[]> {
  const [demuxer, ...more] =
    format === RAW_FORMAT
      ? ['rawvideo', '-pixel_format', 'rgb24', '-video_size', `${width}x${height}`]
      : [demuxerOf(await firstBytes(path))];
  if (demuxer === undefined) throw imageReadingError(source, 'the file is no longer an image');
  return ['-format_whitelist', demuxer, '-f', demuxer, ...more];
}

function demuxerOf(bytes: string): string | undefined {
  return FORMATS.find(([start]) => start.test(bytes))?.[1];
}

/** Returns the media type of an image of a known format, by its first bytes; undefined for other files. */
export function imageType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16)).toString('latin1');
  return FORMATS.find(([format]) => format.test(start))?.[2];
}

/** Returns how the picture is turned in its file. */
async function orientationAt(path: string): Promise<number> {
  const head = await headOf(path, EXIF_BYTES);
  return head[0] === 0xff && head[1] === 0xd8 ? exifOrientation(head) : 1;
}

const firstBytes = async (path: string): Promise<string> => (await headOf(path, 16)).toString('latin1');

async function headOf(path: string, length: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
