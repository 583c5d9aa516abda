import { imageReadingError } from '../errors.ts';
import { type Conversion, scaledTo } from '../image/conversion.ts';
import type { Size } from '../image/size.ts';
import { complaint } from '../probe.ts';
import type { MediaSource } from '../types.ts';
import { PictureProcess } from './picture-process.ts';

export interface FrameConvertersOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly signal: AbortSignal;
}

/** Processes that wait for the next frame. */
const MAX_IDLE = 2;

/**
 * Converts the frames of one video. A process that has converted one waits for the next, because starting ffmpeg takes
 * many times as long as a conversion.
 */
export class FrameConverters implements AsyncDisposable {
  readonly #options: FrameConvertersOptions;
  /** By what they make. The one that was used last is the last one. */
  readonly #idle = new Map<string, PictureProcess>();
  #isClosed = false;

  /** The signal ends the processes. */
  constructor(options: FrameConvertersOptions) {
    this.#options = options;
  }

  /** Converts the pixels of a frame of this size, which is that of all frames. Rejects with the signal's reason. */
  async convert(pixels: Uint8Array, from: Size, conversion: Conversion, signal: AbortSignal): Promise<Uint8Array> {
    const { source, signal: ends } = this.#options;
    signal.throwIfAborted();
    const key = [scaledTo(conversion.size), ...conversion.codec].join(' ');
    const idle = this.#idle.get(key);
    this.#idle.delete(key);
    const process = idle?.isRunning ? idle : this.#start(from, conversion);
    const end = (): void => void process[Symbol.asyncDispose]();
    signal.addEventListener('abort', end, { once: true });
    try {
      process.write(pixels);
      const picture = await process.next();
      if (!picture)
        throw imageReadingError(source, `the frame cannot be converted (${complaint(process.end.stderr, 'pipe:0')})`);
      await this.#keep(key, process);
      return picture.bytes;
    } catch (error) {
      await process[Symbol.asyncDispose]();
      signal.throwIfAborted();
      ends.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  /** Ends the processes. Frames that are converted later have a process for each conversion. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const idle = [...this.#idle.values()];
    this.#idle.clear();
    await Promise.all(idle.map((process) => process[Symbol.asyncDispose]()));
  }

  #start(from: Size, { size, codec, bytes }: Conversion): PictureProcess {
    const { ffmpegPath, signal } = this.#options;
    const raw = ['-format_whitelist', 'rawvideo', '-f', 'rawvideo', '-pixel_format', 'rgb24'];
    return new PictureProcess({
      ...{ ffmpegPath, path: undefined, mostBytes: bytes, signal },
      before: [...raw, '-video_size', `${from.width}x${from.height}`],
      after: ['-map', '0:v', '-vf', scaledTo(size), ...codec],
    });
  }

  /** Lets a process wait for the next frame, or ends one of too many. */
  async #keep(key: string, process: PictureProcess): Promise<void> {
    if (this.#isClosed || this.#idle.has(key)) {
      await process[Symbol.asyncDispose]();
      return;
    }
    this.#idle.set(key, process);
    const [oldest] = this.#idle;
    if (this.#idle.size <= MAX_IDLE || !oldest) return;
    this.#idle.delete(oldest[0]);
    await oldest[1][Symbol.asyncDispose]();
  }
}
