import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import { type Deferred, deferred } from '../../../base/core/deferred.ts';
import type { EncodedAudio } from '../../../base/schemas/index.ts';

/** Parts that may wait for the call. */
const MOST_WAITING = 16;

/** The feed of a call that gets its audio from events. */
export class AudioFeed extends AsyncQueue<EncodedAudio> {
  #room: Deferred<void> | undefined;

  /** Adds a part. Resolves when there is room for more. Does nothing when the call has ended. */
  override async push(part: EncodedAudio): Promise<void> {
    super.push(part);
    if (this.size > MOST_WAITING) await (this.#room ??= deferred()).promise;
  }

  override async next(): Promise<IteratorResult<EncodedAudio, undefined>> {
    const step = await super.next();
    if (this.size <= MOST_WAITING) this.#makeRoom();
    return step;
  }

  /** Drops what waits, because the call has ended. */
  override async return(): Promise<IteratorResult<EncodedAudio, undefined>> {
    const step = await super.return();
    this.#makeRoom();
    return step;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }
}
