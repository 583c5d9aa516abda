import { fail } from '../../../../base/core/errors.ts';
import type { FramePort, FramesPort } from '../../ports.ts';

/** Frames of a video that a guest reads, one after the other. */
export class HeldFrames {
  readonly #ending = new AbortController();
  readonly #frames: FramesPort;
  #current: FramePort | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  /** `open` gets a signal that aborts when the guest drops the frames, or when the signal of the invocation does. */
  constructor(signal: AbortSignal, open: (signal: AbortSignal) => FramesPort) {
    this.#frames = open(AbortSignal.any([signal, this.#ending.signal]));
  }

  /** Decodes the next frame. Returns its time, undefined at the end. Calls at the same time wait for each other. */
  next(): Promise<number | undefined> {
    const next = this.#reading.then(async () => {
      await this.#forget();
      const { value } = await this.#frames.next();
      this.#current = value ?? undefined;
      return this.#current?.time;
    });
    this.#reading = next.catch(() => {}); // the caller gets the error
    return next;
  }

  /** Returns the image of the current frame, which then belongs to the caller. Throws `InvalidHandle`. */
  take(): FramePort['image'] {
    const frame = this.#current;
    if (!frame) throw fail('InvalidHandle', 'there is no frame whose image was not taken; call next first');
    this.#current = undefined;
    return frame.image;
  }

  /** Ends the decoder. */
  close(): void {
    this.#ending.abort();
    void this.#frames.return().catch(() => {}); // it ends with the reason of the signal
    void this.#forget().catch(() => {}); // its folder is removed with the scope of the media
  }

  async #forget(): Promise<void> {
    const frame = this.#current;
    this.#current = undefined;
    await frame?.image[Symbol.asyncDispose]();
  }
}
