/** Milliseconds of one turn of the event loop that lines may take. */
const turnMs = 4;
/** Most lines, and characters of them, that wait. */
const most = { lines: 2_000, chars: 32 * 1024 * 1024 } as const;

/** Most lines of an invocation that are written at its end, so that the few of an ordinary one come before it. */
const mostAtEnd = 50;

interface Waiting {
  readonly owner: number | undefined;
  readonly chars: number;
  write(): void;
}

/**
 * Lets a plugin's guests write lines on the thread that serves HTTP, a few milliseconds in each turn of the event loop:
 * a guest need not wait for its lines, so that a thousand of them can come at once. Lines that are too many to wait are
 * dropped and counted.
 */
export class PacedLog {
  readonly #onDropped: (lines: number) => void;
  readonly #waiting: Waiting[] = [];
  #waitingChars = 0;
  #spentMs = 0;
  #dropped = 0;
  #isPending = false;

  /** @param onDropped told how many lines were dropped, once there is room again. */
  constructor(onDropped: (lines: number) => void) {
    this.#onDropped = onDropped;
  }

  /** Writes a line of so many characters, now or in a later turn; lines of an owner keep their order. */
  add(owner: number | undefined, chars: number, write: () => void): void {
    this.#schedule();
    if (this.#waiting.length === 0 && this.#spentMs < turnMs) this.#write(write);
    else if (this.#waiting.length >= most.lines || this.#waitingChars + chars > most.chars) this.#dropped++;
    else {
      this.#waiting.push({ owner, chars, write });
      this.#waitingChars += chars;
    }
  }

  /** An invocation ends: writes what waits of it, but for what is too much for one turn. */
  end(owner: number): void {
    for (let n = 0, written = 0; n < this.#waiting.length && written < mostAtEnd;) {
      const { owner: its, chars, write } = this.#waiting[n]!;
      if (its !== owner) n++;
      else {
        this.#waiting.splice(n, 1);
        this.#waitingChars -= chars;
        written++;
        this.#write(write);
      }
    }
  }

  /** Writes all that waits. */
  flush(): void {
    for (const { write } of this.#waiting.splice(0)) write();
    this.#waitingChars = 0;
  }

  #turn(): void {
    this.#isPending = false;
    this.#spentMs = 0;
    let written = 0;
    while (written < this.#waiting.length && this.#spentMs < turnMs) this.#write(this.#waiting[written++]!.write);
    for (const { chars } of this.#waiting.splice(0, written)) this.#waitingChars -= chars;
    if (this.#waiting.length > 0) this.#schedule();
    else if (this.#dropped > 0) {
      this.#onDropped(this.#dropped);
      this.#dropped = 0;
    }
  }

  #schedule(): void {
    if (this.#isPending) return;
    this.#isPending = true;
    setImmediate(() => this.#turn());
  }

  #write(write: () => void): void {
    const startedAt = performance.now();
    write();
    this.#spentMs += performance.now() - startedAt;
  }
}
