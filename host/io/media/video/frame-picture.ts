import { createHash } from 'node:crypto';
import { unlink, writeFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type AanaError, fail, isDiskFull } from '../../../base/core/errors.ts';
import type { ImageEncoding, ImageReference } from '../../../base/schemas/index.ts';
import { artifactOf } from '../../artifacts/index.ts';
import { sizeForModel } from '../decoded-image.ts';
import { diskFullError } from '../errors.ts';
import { type Conversion, toFile, toPixels } from '../image/conversion.ts';
import type { Size } from '../image/size.ts';
import type { FrameImage, ImageInfo, MediaSource, MediaWorkOptions } from '../types.ts';

export interface FramePictureOptions {
  readonly source: MediaSource;
  readonly size: Size;
  /** The new file for its pixels, below `root`. */
  readonly path: string;
  /** The folder that the ids of artifacts are relative to. */
  readonly root: string;
  /** Called with the memory of the pixels when nothing needs it any more. */
  readonly onFree: (pixels: Buffer) => void;
  /** Converts pixels of such frames. */
  readonly convert: (pixels: Uint8Array, to: Conversion, work: MediaWorkOptions) => Promise<Uint8Array>;
}

// Those of `node:fs/promises` take several times the CPU time for small files.
const written = promisify(writeFile);
const removed = promisify(unlink);

/** Bytes that are hashed at a time, in a fraction of a millisecond. */
const STEP_BYTES = 256 * 1024;

/**
 * A decoded frame. Its pixels are in memory until the next frame is asked for. Then they are in a file, if somebody
 * still has it.
 */
export class FramePicture implements FrameImage {
  readonly info: ImageInfo;
  readonly #options: FramePictureOptions;
  #pixels: Buffer | undefined;
  /** The SHA-256 of the file, once it is being written. */
  #file: Promise<string> | undefined;
  #isGone = false;
  /** Whether somebody else may still read the memory. */
  #isShared = false;

  /** @param pixels red, green and blue of each pixel, row by row from the top; at most as many as models take */
  constructor(pixels: Buffer, options: FramePictureOptions) {
    this.#pixels = pixels;
    this.#options = options;
    this.info = { width: options.size.width, height: options.size.height, format: 'rawvideo' };
  }

  async pixels(size: Size, work: MediaWorkOptions = {}): Promise<Uint8Array> {
    const { width, height } = this.info;
    const conversion = toPixels(size, this.#options.source);
    if (size.width === width && size.height === height) return this.#read();
    return this.#options.convert(await this.#read(), conversion, work);
  }

  async encode(encoding: ImageEncoding, work: MediaWorkOptions = {}): Promise<Uint8Array> {
    return this.#options.convert(await this.#read(), toFile(this.info, encoding), work);
  }

  async forModel(): Promise<ImageReference> {
    if (this.#isGone) throw goneError();
    const { root, path, source, size } = this.#options;
    sizeForModel(this.info, source); // refuses what models cannot take
    return { pixels: await artifactOf(root, path, await this.#written()), ...size };
  }

  /** Frees the memory of the pixels. */
  async leaveMemory(): Promise<void> {
    if (!this.#isGone) await this.#written();
    this.#free();
  }

  /** May be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isGone = true;
    await this.#file?.catch(() => {}); // its caller has the error
    this.#free();
    if (this.#file) await removed(this.#options.path).catch(() => {}); // it is gone, perhaps with its folder
  }

  async #read(): Promise<Uint8Array> {
    if (this.#isGone) throw goneError();
    this.#isShared = true;
    return this.#pixels ?? readFile(this.#options.path);
  }

  #free(): void {
    if (this.#pixels && !this.#isShared) this.#options.onFree(this.#pixels);
    this.#pixels = undefined;
  }

  #written(): Promise<string> {
    this.#file ??= this.#write();
    return this.#file;
  }

  async #write(): Promise<string> {
    const { path, root } = this.#options;
    const pixels = this.#pixels;
    if (!pixels) throw goneError();
    try {
      const [sha256] = await Promise.all([digestOf(pixels), written(path, pixels, { flag: 'wx', mode: 0o600 })]);
      return sha256;
    } catch (error) {
      throw isDiskFull(error) ? diskFullError(root, error) : error;
    }
  }
}

const goneError = (): AanaError => fail('InvalidHandle', 'the frame was disposed of');

/** Computed in steps, because this thread serves all requests. WebCrypto copies the bytes, which takes as long. */
async function digestOf(pixels: Buffer): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < pixels.length; at += STEP_BYTES) {
    if (at > 0) await setImmediate();
    hash.update(pixels.subarray(at, at + STEP_BYTES));
  }
  return hash.digest('hex');
}
