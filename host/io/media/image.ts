import { open } from 'node:fs/promises';
import { AanaError } from '../../base/core/errors.ts';
import type { ImageEncoding } from '../../base/schemas/index.ts';
import { imageReadingError, imageTooLargeError } from './errors.ts';
import { type Conversion, scaledTo, toFile, toPixels } from './image/conversion.ts';
import { exifOrientation, isOnItsSide, turningFilters } from './image/exif-orientation.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { hasUnmarkedInks } from './image/jpeg-segments.ts';
import { complaint, type ProbeOptions } from './probe.ts';
import type { Size } from './image/size.ts';
import type { ImageInfo, MediaSource } from './types.ts';

const PROBE_TIMEOUT_MS = 30_000;
const PROBE_CPU_SECONDS = 10;
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
  const [, width, height] = /Picture size (\d+)x(\d+) is invalid/.exec(stderr) ?? [];
  if (Number(width) * Number(height) > MAX_DECODED_PIXELS) throw tooLargeError(source, Number(width), Number(height));
  if (!info) throw imageReadingError(source, `the image cannot be read (${complaint(stderr, path)})`);
  if (/^ {2}Stream group #0:0.*: Tile Grid:/m.test(stderr))
    throw imageReadingError(source, 'the image is made of tiles, which cannot be joined here; save it as a JPEG');
  const head = await headOfJpeg(path);
  if (head && hasUnmarkedInks(head))
    throw imageReadingError(source, 'the JPEG has four inks and does not say which; save it with red, green and blue');
  return isOnItsSide(head ? exifOrientation(head) : 1)
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
  const conversion = toPixels(size, options.source);
  const { stdout, reason } = await convert(path, info, conversion, options);
  if (stdout.length !== conversion.bytes)
    throw imageReadingError(options.source, `the image cannot be decoded (${reason})`);
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
  const { stdout, reason } = await convert(path, info, toFile(info, encoding), options);
  if (stdout.length === 0) throw imageReadingError(options.source, `the image cannot be encoded (${reason})`);
  return stdout;
}

/** Converts the first picture of the file. */
async function convert(
  path: string,
  info: ImageInfo,
  { size, codec, bytes }: Conversion,
  { ffmpegPath, source, signal }: ProbeOptions,
): Promise<{ readonly stdout: Uint8Array; readonly reason: string }> {
  if (info.width * info.height > MAX_DECODED_PIXELS) throw tooLargeError(source, info.width, info.height);
  const before = ['-v', 'error', '-noautorotate', ...(await inputOf(path, source))];
  const head = await headOfJpeg(path);
  const filters = [...(turningFilters[head ? exifOrientation(head) : 1] ?? []), scaledTo(size)];
  const after = ['-map', '0:v:0', '-frames:v', '1', '-vf', filters.join(','), ...codec, '-f', 'image2pipe', 'pipe:1'];
  const limits = { signal, timeoutMs: PROBE_TIMEOUT_MS, cpuSeconds: PROBE_CPU_SECONDS, maxStdoutBytes: bytes };
  const { stdout, stderr } = await runFfmpeg(ffmpegPath, before, path, after, limits).catch((error: unknown) => {
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw imageReadingError(source, 'decoding the image took too long', error);
    throw error;
  });
  return { stdout, reason: complaint(stderr, path) };
}

function tooLargeError(source: MediaSource, width: number, height: number): AanaError {
  const what = `the image has ${width} × ${height} pixels, which is too large to decode`;
  return imageTooLargeError(source, what, MAX_DECODED_PIXELS);
}

/** Reads ffmpeg's description of an image: `Stream #0:0: Video: png, rgba(pc), 640x480, …`. */
export function parseImage(stderr: string): ImageInfo | undefined {
  const [, format, width, height] = /^ {2,4}Stream #0:0\S*: Video: (\w+)\b.*?, (\d+)x(\d+)\b/m.exec(stderr) ?? [];
  return format !== undefined && Number(width) > 0 && Number(height) > 0
    ? { width: Number(width), height: Number(height), format }
    : undefined;
}

/** Returns the options with which ffmpeg reads the image and nothing else. */
async function inputOf(path: string, source: MediaSource): Promise<string[]> {
  const demuxer = demuxerOf(await firstBytes(path));
  if (demuxer === undefined) throw imageReadingError(source, 'the file is no longer an image');
  return ['-format_whitelist', demuxer, '-f', demuxer];
}

function demuxerOf(bytes: string): string | undefined {
  const demuxer = FORMATS.find(([start]) => start.test(bytes))?.[1];
  // The second bit of the options of an extended WebP says that it moves.
  const moves = bytes.startsWith('VP8X', 12) && (bytes.charCodeAt(20) & 2) !== 0;
  return demuxer === 'webp_pipe' && moves ? 'webp_anim' : demuxer;
}

/** Returns the media type of an image of a known format, by its first bytes; undefined for other files. */
export function imageType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16)).toString('latin1');
  return FORMATS.find(([format]) => format.test(start))?.[2];
}

/** Returns the beginning of a JPEG; undefined for another file. */
async function headOfJpeg(path: string): Promise<Buffer | undefined> {
  const head = await headOf(path, EXIF_BYTES);
  return head[0] === 0xff && head[1] === 0xd8 ? head : undefined;
}

const firstBytes = async (path: string): Promise<string> => (await headOf(path, 24)).toString('latin1');

async function headOf(path: string, length: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
