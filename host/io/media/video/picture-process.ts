import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fail } from '../../../base/core/errors.ts';
import { continueChild, endChild, pauseChild } from '../../../base/processes/index.ts';
import { spawnFfmpeg } from '../ffmpeg.ts';

export interface PictureProcessOptions {
  readonly ffmpegPath: string;
  /** ffmpeg's options of the input. */
  readonly before: readonly string[];
  /** The file to read. Undefined: pictures come through stdin. */
  readonly path: string | undefined;
  /** ffmpeg's options of the output up to the codec. */
  readonly after: readonly string[];
  /** Limit of the bytes of one picture. */
  readonly mostBytes: number;
  readonly spare?: Spare | undefined;
  /** Default: no limit. */
  readonly cpuSeconds?: number | undefined;
  readonly signal: AbortSignal;
}

/** Memory of a picture that nobody needs any more. New memory for each picture costs a third of a millisecond. */
export interface Spare {
  bytes?: Buffer | undefined;
}

/** A picture as the codec of the output writes it. */
export interface Picture {
  /** Microseconds, as the input counts them. */
  readonly time: number;
  readonly bytes: Buffer;
}

export interface PictureProcessEnd {
  readonly stderr: string;
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const STDERR_CHARS = 20_000;
/** ffmpeg lists each picture before it writes its bytes. Its list has their time and length. */
const OUTPUT = '[f=framecrc:flush_packets=1]pipe:3|[f=image2pipe:flush_packets=1]pipe:1';

/**
 * One ffmpeg that makes pictures of any number and length. It writes them to its stdout, where it waits until somebody
 * reads them, and a list of them to descriptor 3. The signal ends it.
 */
export class PictureProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #list: AsyncIterator<string>;
  readonly #mostBytes: number;
  readonly #spare: Spare;
  #rest: Buffer | undefined;
  #stderr = '';

  constructor({ ffmpegPath, before, path, after, mostBytes, spare = {}, cpuSeconds, signal }: PictureProcessOptions) {
    this.#mostBytes = mostBytes;
    this.#spare = spare;
    // With more threads, encoders hold pictures back until further ones come.
    const output = ['-fps_mode', 'passthrough', '-enc_time_base', '1:1000000', '-threads', '1', '-f', 'tee', OUTPUT];
    this.#child = spawnFfmpeg(ffmpegPath, ['-v', 'error', ...before], path, [...after, ...output], {
      stdio: [path === undefined ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe'],
      cpuSeconds,
      signal,
    });
    this.#closed = once(this.#child, 'close').catch((error: unknown) => error);
    this.#child.stdin?.on('error', () => {}); // it has ended, which the reader notices
    this.#child.stderr?.on('data', (text: Buffer) => (this.#stderr = `${this.#stderr}${text}`.slice(-STDERR_CHARS)));
    this.#chunks = this.#child.stdout![Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#list = createInterface({ input: this.#child.stdio[3] as Readable })[Symbol.asyncIterator]();
  }

  /** Gives it the next picture of its input. Needs a process that reads stdin. */
  write(picture: Uint8Array): void {
    this.#child.stdin!.write(picture);
  }

  /** Returns the next picture. Undefined when there is none, after the process has ended. */
  async next(): Promise<Picture | undefined> {
    for (let line = await this.#list.next(); !line.done; line = await this.#list.next()) {
      const [, time, length] = /^0, +\S+ +(-?\d+), +\d+, +(\d+), 0x/.exec(line.value) ?? [];
      if (length === undefined) continue; // a line about the track
      const bytes = await this.#read(Number(length));
      if (bytes) return { time: Number(time), bytes };
    }
    while (!(await this.#chunks.next()).done); // a cut picture
    await this.#closed;
    return undefined;
  }

  /** Stops ffmpeg until `continue`. Returns false where that is not possible. */
  pause(): boolean {
    return pauseChild(this.#child);
  }

  continue(): void {
    continueChild(this.#child);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What ffmpeg has said, and how it ended. */
  get end(): PictureProcessEnd {
    const { exitCode: code, signalCode: signal } = this.#child;
    return { stderr: this.#stderr, code, signal };
  }

  /** Ends ffmpeg. Resolves when it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    endChild(this.#child, 0);
    this.#child.stdout?.destroy();
    await this.#closed;
  }

  async #read(length: number): Promise<Buffer | undefined> {
    if (length > this.#mostBytes)
      throw fail('ProcessOutputTooLarge', `ffmpeg made a picture of ${length} bytes; the limit is ${this.#mostBytes}`);
    const bytes = this.#spare.bytes?.length === length ? this.#spare.bytes : Buffer.allocUnsafeSlow(length);
    this.#spare.bytes = undefined;
    for (let filled = 0; filled < length;) {
      const chunk = this.#rest ?? (await this.#chunks.next()).value;
      if (!chunk) return undefined;
      const copied = chunk.copy(bytes, filled);
      this.#rest = copied < chunk.length ? chunk.subarray(copied) : undefined;
      filled += copied;
    }
    return bytes;
  }
}
