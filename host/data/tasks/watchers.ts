import { fail } from '../../base/core/errors.ts';

/** Counts the streams of events that each user reads from this host. */
export class Watchers {
  readonly #counts = new Map<string, number>();

  /**
   * Counts one more stream until the returned function is called. Throws `TooManyWatchers` when the user already reads
   * `most` streams. Callers without a user (null) are not counted.
   */
  add(userId: string | null, most: number | undefined): () => void {
    if (userId === null || most === undefined) return () => {};
    const count = this.#counts.get(userId) ?? 0;
    if (count >= most) {
      throw fail(
        'TooManyWatchers',
        `this user already reads the events of ${most} tasks and responses, which is the most at the same time; end ` +
          `one of the streams first`,
        { data: { max_watchers: most } },
      );
    }
    this.#counts.set(userId, count + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#counts.get(userId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(userId);
      else this.#counts.set(userId, left);
    };
  }
}
