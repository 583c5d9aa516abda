import { webcrypto } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import type { ImageReference } from '../../../base/schemas/index.ts';
import { artifactOf } from '../../artifacts/index.ts';
import { sizeForModel } from '../decoded-image.ts';
import { RAW_FORMAT } from '../image.ts';
import type { FrameImage, ImageInfo, ImageMedia, MediaSource } from '../types.ts';
import type { Size } from '../image/size.ts';

interface FrameFileOptions {
  /** The folder that the ids of artifacts are relative to. */
  readonly root: string;
  readonly source: MediaSource;
  readonly pixels: ImageMedia['pixels'];
  readonly encode: ImageMedia['encode'];
}

/** A decoded frame in a file, which it removes when it is disposed. */
export class FrameFile implements FrameImage {
  readonly #file: Size & { readonly path: string; readonly sha256: string };
  readonly #options: FrameFileOptions;

  private constructor(file: Size & { readonly path: string; readonly sha256: string }, options: FrameFileOptions) {
    this.#file = file;
    this.#options = options;
  }

  /**
   * Writes the red, green and blue of each pixel to the new file `path`. They are at most as many as those of an image
   * for a model.
   */
  static async write(path: string, pixels: Buffer, size: Size, options: FrameFileOptions): Promise<FrameFile> {
    const [sha256] = await Promise.all([digestOf(pixels), writeFile(path, pixels, { flag: 'wx', mode: 0o600 })]);
    return new FrameFile({ path, ...size, sha256 }, options);
  }

  get info(): ImageInfo {
    const { width, height } = this.#file;
    return { width, height, format: RAW_FORMAT };
  }

  get pixels(): ImageMedia['pixels'] {
    return this.#options.pixels;
  }

  get encode(): ImageMedia['encode'] {
    return this.#options.encode;
  }

  async forModel(): Promise<ImageReference> {
    const { path, width, height, sha256 } = this.#file;
    const { root, source } = this.#options;
    sizeForModel({ width, height, format: RAW_FORMAT }, source); // refuses what models cannot take
    return { pixels: await artifactOf(root, path, sha256), width, height };
  }

  /** May be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#file.path, { force: true });
  }
}

/** Computed in another thread, because this one serves all requests. ffmpeg's own takes several times as long. */
async function digestOf(pixels: Buffer): Promise<string> {
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', pixels)).toString('hex');
}
