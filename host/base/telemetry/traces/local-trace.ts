import type { SpanRecord } from './span-record.ts';

/** Most spans that are kept of a request. A plugin can call the host thousands of times. */
const MAX_SPANS = 256;

/** What this process does for one request or one attempt at a task: the part of a trace with one root. */
export class LocalTrace {
  readonly traceId: string;
  /** Whether the spans are exported. */
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
  /** The first spans that ended, and the root. */
  readonly spans: SpanRecord[] = [];
  /** Set when the root has ended. Spans inside of it can end later. */
  root: SpanRecord | undefined;
  droppedSpans = 0;
  /** The `traceparent` of all spans so far. */
  readonly traceparents: string[] = [];
  #open = 0;
  /** Milliseconds since the epoch. */
  readonly startedAt = Date.now();
  /** The clock of the system can jump, so all times of a trace are counted from its beginning. */
  readonly #epoch = this.startedAt - performance.now();

  constructor(traceId: string, isSampled: boolean, tracestate: string | undefined) {
    this.traceId = traceId;
    this.isSampled = isSampled;
    this.tracestate = tracestate;
  }

  /** Returns the time in milliseconds since the epoch, with fractions. */
  now(): number {
    return this.#epoch + performance.now();
  }

  /** Whether the root and all spans inside of it have ended. */
  get isOver(): boolean {
    return this.#open === 0 && this.root !== undefined;
  }

  /** Notes a span that begins with this `traceparent`. */
  begin(traceparent: string): void {
    this.traceparents.push(traceparent);
    this.#open += 1;
  }

  /** Adds a span that has ended. */
  end(span: SpanRecord, isRoot: boolean): void {
    this.#open -= 1;
    if (isRoot) this.root = span;
    if (isRoot || this.spans.length < MAX_SPANS) this.spans.push(span);
    else this.droppedSpans += 1;
  }
}
