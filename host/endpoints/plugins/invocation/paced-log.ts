/** Milliseconds in each turn of the event loop in which lines are written. */
const turnMs = 4;
/** Maximum number of waiting lines, and of their characters. */
const most = { lines: 2_000, chars: 32 * 1024 * 1024 } as const;

/**
 * Maximum number of lines that are written immediately when their invocation ends. An ordinary invocation has fewer, so
 * its lines appear before its end.
 */
const mostAtEnd = 50;

interface Waiting {
  readonly owner: number | undefined;
  readonly chars: number;
  write(): void;
}

/**
 * Writes lines of guests on the thread that serves HTTP, for a few milliseconds in each turn of the event loop. A guest
 * does not wait for its lines, so a thousand of them can arrive at once. Lines beyond the limit are dropped and
 * counted.
 */
export class PacedLog {
  readonly #onDropped: (lines: number) => void;
  readonly #waiting: Waiting[] = [];
  #waitingChars = 0;
  #spentMs = 0;
  #dropped = 0;
  #isPending = false;

  /** @param onDropped called with the number of dropped lines when there is space again. */
  constructor(onDropped: (lines: number) => void) {
    this.#onDropped = onDropped;
  }

  /** Writes a line of this many characters, now or in a later turn. Lines of one owner keep their order. */
  add(owner: number | undefined, chars: number, write: () => void): void {
    this.#schedule();
    if (this.#waiting.length === 0 && this.#spentMs < turnMs) this.#write(write);
    else if (this.#waiting.length >= most.lines || this.#waitingChars + chars > most.chars) this.#dropped++;
    else {
      this.#waiting.push({ owner, chars, write });
      this.#waitingChars += chars;
    }
  }

  /** Writes the waiting lines of an invocation that ends, as far as they fit into one turn. */
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

  /** Writes all waiting lines. */
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
