import { open } from 'node:fs/promises';
import { AanaError } from '../../base/core/errors.ts';
import { imageReadingError, imageTooLargeError } from './errors.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { complaint, type ProbeOptions } from './probe.ts';
import type { ImageInfo, MediaSource } from './types.ts';

const PROBE_TIMEOUT_MS = 30_000;
const PROBE_CPU_SECONDS = 10;
/** Limit of the pixels that a guest gets; they take 12 MiB of its memory. */
const MAX_PIXELS = 2 ** 22;
/** Limit of the pixels to decode; they take 256 MiB of the decoder's memory. */
const MAX_DECODED_PIXELS = 2 ** 26;

/**
 * Demuxers for one image in one file, by the first bytes of the file. ffmpeg gets their names, because its default
 * demuxer would read file names as patterns.
 */
const DEMUXERS: readonly (readonly [start: RegExp, demuxer: string])[] = [
  [/^\x89PNG\r\n/, 'png_pipe'],
  [/^\xff\xd8\xff/, 'jpeg_pipe'],
  [/^GIF8[79]a/, 'gif'],
  [/^RIFF[\s\S]{4}WEBP/, 'webp_pipe'],
  [/^BM/, 'bmp_pipe'],
];

/** The format of a file with the red, green and blue of each pixel. */
export const RAW_FORMAT = 'rawvideo';

/** Describes the image at `path`. Throws `ImageReadingException` if the file is not an image. */
export async function probeImage(path: string, { ffmpegPath, source, signal }: ProbeOptions): Promise<ImageInfo> {
  const demuxer = demuxerOf(await firstBytes(path));
  if (demuxer === undefined)
    throw imageReadingError(source, 'the file is not an image that can be read (PNG, JPEG, GIF, WebP or BMP)');
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
  return info;
}

/**
 * Scales the image at `path` and returns red, green and blue of each pixel, row by row from the top, without
 * transparency. Throws `ImageTooLargeException`, or `ImageReadingException` if the image cannot be decoded.
 */
export async function imagePixels(
  path: string,
  info: ImageInfo,
  size: { readonly width: number; readonly height: number },
  { ffmpegPath, source, signal }: ProbeOptions,
): Promise<Uint8Array> {
  const { width, height } = size;
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
  const after = [
    '-map',
    '0:v:0',
    '-frames:v',
    '1',
    '-vf',
    `scale=${width}:${height}:flags=area`,
    '-pix_fmt',
    'rgb24',
    '-f',
    'rawvideo',
    'pipe:1',
  ];
  const bytes = 3 * width * height;
  const limits = { signal, timeoutMs: PROBE_TIMEOUT_MS, cpuSeconds: PROBE_CPU_SECONDS, maxStdoutBytes: bytes };
  const { stdout, stderr } = await runFfmpeg(ffmpegPath, before, path, after, limits).catch((error: unknown) => {
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw imageReadingError(source, 'decoding the image took too long', error);
    throw error;
  });
  if (stdout.length !== bytes)
    throw imageReadingError(source, `the image cannot be decoded (${complaint(stderr, path)})`);
  return stdout;
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
  return DEMUXERS.find(([start]) => start.test(bytes))?.[1];
}

async function firstBytes(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}
