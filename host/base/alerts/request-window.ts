import type { RequestFacts } from './facts.ts';

interface Mark extends RequestFacts {
  /** Milliseconds of the clock. */
  readonly at: number;
}

/** Counts the requests of the last seconds out of totals that are noted from time to time. */
export class RequestWindow {
  readonly #longestMs: number;
  /** The oldest first. */
  readonly #marks: Mark[] = [];

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
  }

  note(at: number, totals: RequestFacts | undefined): void {
    if (!totals) return void this.#marks.splice(0);
    this.#marks.push({ at, ...totals });
    // The newest mark before the window is kept, because the window begins there.
    const first = this.#marks.findIndex((mark) => mark.at > at - this.#longestMs);
    if (first > 1) this.#marks.splice(0, first - 1);
  }

  /** Returns the requests between the newest mark and the last one that is older by `ms`; undefined without marks. */
  within(ms: number): RequestFacts | undefined {
    const newest = this.#marks.at(-1);
    if (!newest) return undefined;
    const first = this.#marks.findLast((mark) => mark.at <= newest.at - ms) ?? this.#marks[0] ?? newest;
    return { total: newest.total - first.total, failed: newest.failed - first.failed };
  }
}
