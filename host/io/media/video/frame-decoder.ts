import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { endChild } from '../../../base/processes/index.ts';
import { videoReadingError } from '../errors.ts';
import { spawnFfmpeg } from '../ffmpeg.ts';
import { complaint } from '../probe.ts';
import type { MediaSource } from '../types.ts';
import type { Size } from '../image/size.ts';
import type { VideoTrack } from './video-track.ts';

export interface FrameDecoderOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly path: string;
  readonly track: VideoTrack;
  readonly size: Size;
  /** Options of the input, such as `-ss`. */
  readonly before: readonly string[];
  /** An expression of ffmpeg's filter `select`. */
  readonly select: string;
  readonly cpuSeconds: number;
  readonly signal: AbortSignal;
}

/** A decoded picture. */
export interface RawFrame {
  /** Seconds, as the file counts them. */
  readonly time: number;
  /** Red, green and blue of each pixel, row by row from the top. Overwritten by the next frame. */
  readonly pixels: Buffer;
}

/** Times in the list of frames are whole numbers of this part of a second. */
const TICKS = 1_000_000;
const STDERR_CHARS = 20_000;

/**
 * One ffmpeg that decodes pictures. It writes pixels to its stdout, where it waits until somebody reads them. Their
 * times come through descriptor 3.
 */
export class FrameDecoder implements AsyncDisposable {
  readonly #options: FrameDecoderOptions;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #lines: AsyncIterator<string>;
  readonly #pixels: Buffer;
  #rest: Buffer | undefined;
  #stderr = '';
  #decoded = 0;

  /** Starts to decode. The signal ends it. */
  constructor(options: FrameDecoderOptions) {
    this.#options = options;
    const { ffmpegPath, path, track, size, before, select, cpuSeconds, signal } = options;
    this.#pixels = Buffer.allocUnsafeSlow(3 * size.width * size.height);
    const after = [
      ...['-map', `0:${track.stream}`, '-an', '-sn', '-dn', '-vf', filtersOf(track, size, select)],
      // The times of the frames are kept as they are.
      ...['-fps_mode', 'passthrough', '-enc_time_base', `1:${TICKS}`, '-c:v', 'rawvideo', '-pix_fmt', 'rgb24'],
      ...['-f', 'tee', '[f=rawvideo:flush_packets=1]pipe:1|[f=framecrc:flush_packets=1]pipe:3'],
    ];
    this.#child = spawnFfmpeg(ffmpegPath, ['-v', 'error', '-copyts', ...before], path, after, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      cpuSeconds,
      signal,
    });
    this.#closed = once(this.#child, 'close').catch((error: unknown) => error);
    this.#child.stderr?.on('data', (text: Buffer) => (this.#stderr = `${this.#stderr}${text}`.slice(-STDERR_CHARS)));
    this.#chunks = this.#child.stdout![Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const list = this.#child.stdio[3] as Readable;
    this.#lines = createInterface({ input: list })[Symbol.asyncIterator]();
  }

  /**
   * Returns the next frame, undefined at the end. Of a damaged track it returns what can be decoded. Throws
   * `VideoReadingException` if that is nothing, or the signal's reason.
   */
  async next(): Promise<RawFrame | undefined> {
    if (!(await this.#fill())) {
      await this.#closed;
      this.#requireSuccess();
      return undefined;
    }
    for (;;) {
      const { value: line, done } = await this.#lines.next();
      const [, ticks] = /^0, +\S+ +(-?\d+), +\d+, +\d+, 0x/.exec(line ?? '') ?? [];
      if (ticks !== undefined) {
        this.#decoded += 1;
        return { time: Number(ticks) / TICKS, pixels: this.#pixels };
      }
      if (done) {
        this.#options.signal.throwIfAborted();
        throw videoReadingError(this.#options.source, 'the decoder gave a frame without its time');
      }
    }
  }

  /** Ends ffmpeg. Resolves when it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    endChild(this.#child, 0);
    this.#child.stdout?.destroy();
    await this.#closed;
  }

  /** Reads one frame. Returns whether there was one. */
  async #fill(): Promise<boolean> {
    for (let filled = 0; filled < this.#pixels.length;) {
      const chunk = this.#rest ?? (await this.#chunks.next()).value;
      if (!chunk) return false;
      const copied = chunk.copy(this.#pixels, filled);
      this.#rest = copied < chunk.length ? chunk.subarray(copied) : undefined;
      filled += copied;
    }
    return true;
  }

  #requireSuccess(): void {
    const { source, path, signal } = this.#options;
    signal.throwIfAborted();
    const { exitCode, signalCode } = this.#child;
    if (signalCode === 'SIGXCPU' || signalCode === 'SIGKILL')
      throw videoReadingError(source, 'decoding the frames took too long');
    if (exitCode === 0 && (this.#decoded > 0 || this.#stderr === '')) return;
    const why =
      signalCode === null
        ? (missingPart(this.#stderr) ?? complaint(this.#stderr, path))
        : `the decoder was killed by ${signalCode}`;
    throw videoReadingError(source, `the video track cannot be decoded (${why})`);
  }
}

/**
 * From the light of HDR to that of an ordinary screen, in linear light. ffmpeg's converters of colours know no HDR
 * without it.
 */
const TONE_MAP = [
  'zscale=transfer=linear:npl=203',
  'format=gbrpf32le',
  'zscale=primaries=bt709',
  'tonemap=tonemap=hable:desat=0',
  'zscale=transfer=iec61966-2-1:range=full',
];

/** Says what an ffmpeg lacks that is old or was built without a library. */
function missingPart(stderr: string): string | undefined {
  const [, option] = /Unrecognized option '(\w+)'/.exec(stderr) ?? [];
  if (option !== undefined)
    return `the ffmpeg of this server has no option ${option}; frames of videos need version 5.1 or later`;
  const [, filter] = /No such filter: '(\w+)'/.exec(stderr) ?? [];
  return filter === undefined ? undefined : `the ffmpeg of this server was built without the filter ${filter}`;
}

function filtersOf(
  { isInterlaced, isHdr, unsaidColours }: VideoTrack,
  { width, height }: Size,
  select: string,
): string {
  return [
    // Each frame that is interlaced becomes one. It needs the frames beside it, so it comes first.
    ...(isInterlaced ? ['bwdif=mode=send_frame:deint=interlaced'] : []),
    `select='${select}'`,
    `scale=${width}:${height}:flags=area`,
    ...(unsaidColours.length > 0 ? [`setparams=${unsaidColours.join(':')}`] : []),
    ...(isHdr ? TONE_MAP : []),
    'format=rgb24',
  ].join(',');
}
