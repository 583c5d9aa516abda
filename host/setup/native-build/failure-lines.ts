/** Most lines of the output in an error message. */
const MOST_LINES = 60;

/** The lines of a build's output that tell why it failed. */
export class FailureLines {
  #lines: string[] = [];
  #hasFailed = false;
  #hasError = false;

  /** Takes the next line. */
  add(line: string): void {
    const isError = /\berror:|^CMake Error/i.test(line);
    const begins = isError || line.startsWith('FAILED:');
    // Warnings of a command that failed may fill the message before its first error.
    if ((begins && !this.#hasFailed) || (isError && !this.#hasError && this.#isFull)) this.#lines = [];
    this.#hasFailed ||= begins;
    this.#hasError ||= isError;
    if (!this.#isFull) this.#lines.push(line);
    else if (!this.#hasFailed) this.#lines = [...this.#lines.slice(1), line];
  }

  get #isFull(): boolean {
    return this.#lines.length >= MOST_LINES;
  }

  /** Returns the lines from the first failed command or its first error on, or the last ones if no command failed. */
  toString(): string {
    return this.#lines.join('\n');
  }
}
