/** An answer as a client reads it. */
export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  /** The number in the header `x-n`. */
  readonly n: number | undefined;
}

/** Reads the answers of one connection. */
export class AnswerReader {
  /** The whole answers, without `100 Continue`. */
  readonly answers: Answer[] = [];
  #rest = '';

  /** Takes bytes as latin1. What follows 101 is not read. */
  push(bytes: string): void {
    if (this.answers.at(-1)?.status === 101) return;
    this.#rest += bytes;
    for (let answer = this.#next(); answer; answer = this.#next()) {
      if (answer.status !== 100) this.answers.push(answer);
      if (answer.status === 101) return;
    }
  }

  /** The beginning of an answer that has not come whole. */
  get rest(): string {
    return this.#rest;
  }

  #next(): Answer | undefined {
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const head = this.#rest.slice(0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? Number.NaN);
    const body = bodyAt(this.#rest, end + 4, head, status);
    if (!body) return undefined;
    this.#rest = this.#rest.slice(body.end);
    const n = /^x-n: (\d+)/im.exec(head)?.[1];
    return { status, head, body: body.text, n: n === undefined ? undefined : Number(n) };
  }
}

function bodyAt(
  text: string,
  start: number,
  head: string,
  status: number,
): { readonly text: string; readonly end: number } | undefined {
  if (status < 200) return { text: '', end: start };
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    const end = start + Number(length);
    return text.length < end ? undefined : { text: text.slice(start, end), end };
  }
  let [body, at] = ['', start];
  for (;;) {
    const line = text.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(text.slice(at, line), 16);
    const next = line + 2 + size + 2;
    if (text.length < next) return undefined;
    if (size === 0) return { text: body, end: next };
    body += text.slice(line + 2, line + 2 + size);
    at = next;
  }
}
