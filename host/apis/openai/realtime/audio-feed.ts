import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import { type Deferred, deferred } from '../../../base/core/deferred.ts';
import type { EncodedAudio } from '../../../base/schemas/index.ts';

/** Parts that may wait for the call. */
const MOST_WAITING = 16;

/** The feed of a call that gets its audio from events. */
export class AudioFeed implements AsyncIterableIterator<EncodedAudio, undefined> {
  readonly #queue = new AsyncQueue<EncodedAudio>();
  #room: Deferred<void> | undefined;
  #isOver = false;

  /** Adds a part. Resolves when there is room for more. Does nothing when the call has ended. */
  async push(part: EncodedAudio): Promise<void> {
    if (this.#isOver) return;
    this.#queue.push(part);
    if (this.#queue.size > MOST_WAITING) await (this.#room ??= deferred()).promise;
  }

  /** Ends the feed after the parts that wait. */
  end(): void {
    this.#queue.end();
  }

  async next(): Promise<IteratorResult<EncodedAudio, undefined>> {
    const step = await this.#queue.next();
    if (this.#queue.size <= MOST_WAITING) this.#makeRoom();
    return step;
  }

  /** Drops what waits, because the call has ended. */
  async return(): Promise<IteratorResult<EncodedAudio, undefined>> {
    this.#isOver = true;
    await this.#queue.return();
    this.#makeRoom();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
