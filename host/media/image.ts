import { open } from 'node:fs/promises';
import { AanaError } from '../core/errors.ts';
import { imageReadingError } from './errors.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { complaint, type ProbeOptions } from './probe.ts';
import type { ImageInfo } from './types.ts';

const PROBE_TIMEOUT_MS = 30_000;
const PROBE_CPU_SECONDS = 10;

/** Demuxers of one image in one file, by how the file begins. They are named to ffmpeg, which would take file names as patterns otherwise. */
const DEMUXERS: readonly (readonly [start: RegExp, demuxer: string])[] = [
  [/^\x89PNG\r\n/, 'png_pipe'],
  [/^\xff\xd8\xff/, 'jpeg_pipe'],
  [/^GIF8[79]a/, 'gif'],
  [/^RIFF[\s\S]{4}WEBP/, 'webp_pipe'],
  [/^BM/, 'bmp_pipe'],
];

/** What the image at `path` is. Throws `ImageReadingException` when it is none. */
export async function probeImage(path: string, { ffmpegPath, source, signal }: ProbeOptions): Promise<ImageInfo> {
  const demuxer = demuxerOf(await firstBytes(path));
  if (demuxer === undefined) throw imageReadingError(source, 'the file is not an image that can be read (PNG, JPEG, GIF, WebP or BMP)');
  const limits = { signal, timeoutMs: PROBE_TIMEOUT_MS, cpuSeconds: PROBE_CPU_SECONDS };
  const { stderr } = await runFfmpeg(ffmpegPath, ['-format_whitelist', demuxer, '-f', demuxer], path, [], limits).catch((error: unknown) => {
    if (error instanceof AanaError && error.name === 'ProcessTimeout') throw imageReadingError(source, 'reading the image took too long', error);
    throw error;
  });
  const info = parseImage(stderr);
  if (!info) throw imageReadingError(source, `the image cannot be read (${complaint(stderr, path)})`);
  return info;
}

/** Reads ffmpeg's description of an image: `Stream #0:0: Video: png, rgba(pc), 640x480, …`. */
export function parseImage(stderr: string): ImageInfo | undefined {
  const [, format, width, height] = /^ {2,4}Stream #0:0\S*: Video: (\w+)\b.*?, (\d+)x(\d+)\b/m.exec(stderr) ?? [];
  return format !== undefined && Number(width) > 0 && Number(height) > 0 ? { width: Number(width), height: Number(height), format } : undefined;
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
