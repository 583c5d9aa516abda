import type { ImageReference } from '../../../../base/schemas/media-references.ts';
import type { ImageEncoding } from '../../../../base/schemas/videos/encoding.ts';
import { DEFAULT_QUALITY } from '../../../../base/schemas/videos/file-form.ts';
import type { FrameFilePort, FrameImagePort, FramesPort, ImageInfo, ImagePort, WorkOptions } from '../../ports.ts';
import type { HeldChars } from './held-chars.ts';

type Decode = (file: Uint8Array, work: WorkOptions) => Promise<ImagePort>;

/** A frame of a video as a file, which is decoded when a guest wants something else than the file. */
export class FrameFileImage implements FrameImagePort {
  readonly info: ImageInfo;
  readonly file: Uint8Array;
  readonly #form: ImageEncoding;
  readonly #decode: Decode;
  #decoded: Promise<ImagePort> | undefined;
  #held: HeldChars | undefined;
  #isGone = false;

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

  /** Counts the file from now on, if the guest still has it. Throws `HeldTooMuch`. */
  keep(held: HeldChars): void {
    if (this.#isGone) return;
    held.take(this.file.length);
    this.#held = held;
  }

  /** A file that was written to decode it belongs to the scope of the media. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isGone = true;
    this.#held?.give(this.file.length);
    this.#held = undefined;
  }

  #image(work: WorkOptions): Promise<ImagePort> {
    this.#decoded ??= this.#decode(this.file, work);
    this.#decoded.catch(() => (this.#decoded = undefined)); // the next attempt may succeed
    return this.#decoded;
  }
}

/** Makes frames with images of files. Those that a guest keeps beyond the next one count in `held`. */
export async function* fileFrames(
  files: AsyncGenerator<FrameFilePort, void, undefined>,
  form: ImageEncoding,
  decode: Decode,
  held: HeldChars,
): FramesPort {
  for await (const frame of files) {
    const image = new FrameFileImage(frame, form, decode);
    yield { time: frame.time, image };
    image.keep(held);
  }
}
