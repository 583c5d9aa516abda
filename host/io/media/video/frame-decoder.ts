import { videoReadingError } from '../errors.ts';
import { complaint } from '../probe.ts';
import type { MediaSource } from '../types.ts';
import type { Conversion } from '../image/conversion.ts';
import type { Size } from '../image/size.ts';
import type { Pausable } from './in-turns.ts';
import { PictureProcess, type Spare } from './picture-process.ts';
import type { VideoTrack } from './video-track.ts';

export interface FrameDecoderOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly path: string;
  readonly track: VideoTrack;
  /** The size of the pictures, and what they become. */
  readonly to: Conversion;
  /** Options of the input, such as `-ss`. */
  readonly before: readonly string[];
  /** An expression of ffmpeg's filter `select`. */
  readonly select: string;
  readonly spare: Spare;
  readonly cpuSeconds: number;
  readonly signal: AbortSignal;
}

/** A decoded picture. */
export interface RawFrame {
  /** Seconds, as the file counts them. */
  readonly time: number;
  /** Red, green and blue of each pixel, row by row from the top; or the file of the picture. */
  readonly bytes: Buffer;
}

/** One ffmpeg that decodes pictures to pixels or files. It waits until somebody asks for the next one. */
export class FrameDecoder implements AsyncDisposable, Pausable {
  readonly #options: FrameDecoderOptions;
  readonly #process: PictureProcess;
  #decoded = 0;

  /** Starts to decode. The signal ends it. */
  constructor(options: FrameDecoderOptions) {
    this.#options = options;
    const { ffmpegPath, path, track, to, before, select, spare, cpuSeconds, signal } = options;
    this.#process = new PictureProcess({
      ...{ ffmpegPath, path, mostBytes: to.bytes, spare, cpuSeconds, signal, before: ['-copyts', ...before] },
      after: [
        ...['-map', `0:${track.stream}`, '-an', '-sn', '-dn', '-vf', filtersOf(track, to.size, select)],
        ...to.codec,
      ],
    });
  }

  /**
   * Returns the next frame, undefined at the end. Of a damaged track it returns what can be decoded. Throws
   * `VideoReadingException` if that is nothing, or the signal's reason.
   */
  async next(): Promise<RawFrame | undefined> {
    const picture = await this.#process.next();
    if (picture) {
      this.#decoded += 1;
      return { time: picture.time / 1e6, bytes: picture.bytes };
    }
    this.#requireSuccess();
    return undefined;
  }

  pause(): boolean {
    return this.#process.pause();
  }

  continue(): void {
    this.#process.continue();
  }

  /** Ends ffmpeg. Resolves when it has ended. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]();
  }

  #requireSuccess(): void {
    const { source, path, signal } = this.#options;
    signal.throwIfAborted();
    const { stderr, code, signal: killedBy } = this.#process.end;
    if (killedBy === 'SIGXCPU' || killedBy === 'SIGKILL')
      throw videoReadingError(source, 'decoding the frames took too long');
    if (code === 0 && (this.#decoded > 0 || stderr === '')) return;
    const why =
      killedBy === null ? (missingPart(stderr) ?? complaint(stderr, path)) : `the decoder was killed by ${killedBy}`;
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
    // Files are made of the same pixels. Theirs are square, which a file without a ratio says.
    'format=rgb24',
    'setsar=0',
  ].join(',');
}
