import type { ImageReference } from '../../../../base/schemas/media-references.ts';
import type { ImageEncoding } from '../../../../base/schemas/videos/encoding.ts';
import { DEFAULT_QUALITY } from '../../../../base/schemas/videos/file-form.ts';
import type { FrameFilePort, FrameImagePort, FramesPort, ImageInfo, ImagePort, WorkOptions } from '../../ports.ts';

type Decode = (file: Uint8Array, work: WorkOptions) => Promise<ImagePort>;

/** A frame of a video as a file, which is decoded when a guest wants something else than the file. */
export class FrameFileImage implements FrameImagePort {
  readonly info: ImageInfo;
  readonly file: Uint8Array;
  readonly #form: ImageEncoding;
  readonly #decode: Decode;
  #decoded: Promise<ImagePort> | undefined;

  constructor({ width, height, file }: FrameFilePort, form: ImageEncoding, decode: Decode) {
    this.info = { width, height, format: form.format === 'jpeg' ? 'mjpeg' : 'png' };
    this.file = file;
    this.#form = form;
    this.#decode = decode;
  }

  /** Whether the file is what this encoding would make. */
  isOf(encoding: ImageEncoding): boolean {
    const { format, quality = DEFAULT_QUALITY, ...scaled } = { ...encoding }; // which the host has not checked yet
    if (format !== this.#form.format || Object.keys(scaled).length > 0) return false;
    return quality === (this.#form.quality ?? DEFAULT_QUALITY);
  }

  async encode(encoding: ImageEncoding, work: WorkOptions): Promise<Uint8Array> {
    return (await this.#image(work)).encode(encoding, work);
  }

  async pixels(size: { readonly width: number; readonly height: number }, work: WorkOptions): Promise<Uint8Array> {
    return (await this.#image(work)).pixels(size, work);
  }

  async forModel(work: WorkOptions): Promise<ImageReference> {
    return (await this.#image(work)).forModel(work);
  }

  /** It has no file of its own. One that was decoded belongs to the scope of the media. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #image(work: WorkOptions): Promise<ImagePort> {
    this.#decoded ??= this.#decode(this.file, work);
    this.#decoded.catch(() => (this.#decoded = undefined)); // the next attempt may succeed
    return this.#decoded;
  }
}

/** Makes frames with images of files. */
export async function* fileFrames(
  files: AsyncGenerator<FrameFilePort, void, undefined>,
  form: ImageEncoding,
  decode: Decode,
): FramesPort {
  for await (const frame of files) yield { time: frame.time, image: new FrameFileImage(frame, form, decode) };
}
