import { type Deferred, deferred } from '../../../base/core/deferred.ts';

/**
 * Reads audio while a pass runs, so that the next pass has it at once. It stops reading while `limit` samples wait,
 * which slows the sender down.
 */
export class AudioIntake {
  readonly #parts: Float32Array[] = [];
  readonly #limit: number;
  #waiting = 0;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #changed: Deferred<void> = deferred();
  #room: Deferred<void> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Reads `audio` to its end. Never rejects: `read` throws its error. */
  async follow(audio: AsyncIterable<Float32Array>): Promise<void> {
    try {
      for await (const samples of audio) {
        if (this.#isOver) return;
        this.#parts.push(samples);
        this.#waiting += samples.length;
        this.#tell();
        if (this.#waiting >= this.#limit) await (this.#room = deferred()).promise;
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#isOver = true;
    this.#tell();
  }

  /**
   * Waits for `least` samples or the end of the audio, and takes at most `most`. Returns undefined when the audio is
   * over and everything was taken. Throws the error of the audio, or the reason of `signal`.
   */
  async read(least: number, most: number, signal: AbortSignal): Promise<Float32Array | undefined> {
    const onAbort = (): void => this.#tell();
    signal.addEventListener('abort', onAbort);
    try {
      while (this.#waiting < least && !this.#isOver && !signal.aborted) await this.#changed.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    signal.throwIfAborted();
    if (this.#failure) throw this.#failure.error;
    return this.#waiting === 0 ? undefined : this.#take(Math.min(most, this.#waiting));
  }

  /** Ends the reading. */
  close(): void {
    this.#isOver = true;
    this.#parts.length = 0;
    this.#room?.resolve();
  }

  #take(count: number): Float32Array {
    const taken = new Float32Array(count);
    for (let at = 0; at < count;) {
      const part = this.#parts[0] ?? new Float32Array(0);
      const piece = part.subarray(0, count - at);
      taken.set(piece, at);
      at += piece.length;
      if (piece.length === part.length) this.#parts.shift();
      else this.#parts[0] = part.subarray(piece.length);
    }
    this.#waiting -= count;
    if (this.#waiting < this.#limit) this.#room?.resolve();
    return taken;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }
}
