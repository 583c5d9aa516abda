import { toErrorRecord } from '../../core/errors.ts';
import type { SpanAttributes, Span, SpanKind, SpanOptions } from '../../core/telemetry.ts';
import { newSpanId, traceparentAt } from './ids.ts';
import type { LocalTrace } from './local-trace.ts';
import type { SpanEvent, SpanRecord } from './span-record.ts';

/** Names of errors that guests choose can have any length. */
const MAX_ERROR_NAME = 100;
const NO_EVENTS: readonly SpanEvent[] = [];

/** A span while it is open, and its record from then on. */
export class RecordedSpan implements Span, SpanRecord {
  readonly traceparent: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly spanId = newSpanId();
  readonly parentSpanId: string | undefined;
  readonly startedAt: number;
  readonly trace: LocalTrace;
  /** Whether the work of this process begins with this span. */
  readonly isRoot: boolean;
  readonly #first: SpanAttributes;
  readonly #onEnd: (span: RecordedSpan) => void;
  #last: SpanAttributes | undefined;
  #events: SpanEvent[] | undefined;
  #errorType: string | undefined;
  #endedAt: number | undefined;

  constructor(
    name: string,
    { kind = 'internal', startedAt, attributes = {} }: SpanOptions,
    trace: LocalTrace,
    parentSpanId: string | undefined,
    isRoot: boolean,
    onEnd: (span: RecordedSpan) => void,
  ) {
    this.name = name;
    this.kind = kind;
    this.trace = trace;
    this.isRoot = isRoot;
    this.parentSpanId = parentSpanId;
    this.startedAt = startedAt ?? (isRoot ? trace.startedAt : trace.now());
    this.traceparent = traceparentAt(trace.traceId, this.spanId, trace.isSampled);
    this.#first = attributes;
    this.#onEnd = onEnd;
  }

  event(name: string): void {
    (this.#events ??= []).push({ name, at: this.trace.now() });
  }

  now(): number {
    return this.trace.now();
  }

  end({ error, attributes, endedAt }: Parameters<Span['end']>[0] = {}): void {
    if (this.#endedAt !== undefined) return;
    this.#endedAt = endedAt ?? this.trace.now();
    this.#last = attributes;
    if (error !== undefined) this.#errorType = toErrorRecord(error).name.slice(0, MAX_ERROR_NAME);
    this.#onEnd(this);
  }

  get traceId(): string {
    return this.trace.traceId;
  }

  get tracestate(): string | undefined {
    return this.trace.tracestate;
  }

  get isParentRemote(): boolean {
    return this.isRoot && this.parentSpanId !== undefined;
  }

  get endedAt(): number {
    return this.#endedAt ?? this.startedAt;
  }

  /**
   * They are merged when they are read, because that takes longer than everything else here, and few spans are read.
   */
  get attributes(): SpanAttributes {
    return this.#last ? { ...this.#first, ...this.#last } : this.#first;
  }

  get events(): readonly SpanEvent[] {
    return this.#events ?? NO_EVENTS;
  }

  get errorType(): string | undefined {
    return this.#errorType;
  }
}
