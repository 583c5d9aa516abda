import type { Span, SpanKind, SpanOptions } from '../../core/telemetry.ts';
import { newSpanId, newTraceId, spanContextOf, traceparentAt } from './ids.ts';
import { LocalTrace } from './local-trace.ts';
import type { Sampler } from './sampler.ts';
import { RecordedSpan } from './recorded-span.ts';
import type { SpanRecord } from './span-record.ts';

export interface TracerOptions {
  readonly sampler: Sampler;
  /** Receives each span of the sampled traces when it ends. */
  readonly onSpan?: ((span: SpanRecord) => void) | undefined;
  /**
   * Receives every request and every attempt at a task when it ends. Its spans are recorded for that also if its trace
   * is not sampled.
   */
  readonly onTrace?: ((trace: LocalTrace) => void) | undefined;
}

/** Spans of these kinds begin a piece of work of their own, whose parent is far away or ended long ago. */
const BEGINS_WORK: ReadonlySet<SpanKind | undefined> = new Set<SpanKind>(['server', 'consumer']);
/** The end of the `traceparent` of a trace that is not sampled. */
const NOT_SAMPLED = '-00';
const nothing = (): void => {};

/** Records spans. */
export class Tracer {
  readonly #options: TracerOptions;
  /**
   * Spans of the work that has not ended, by their `traceparent`. An ended span stays until then, because the opening
   * of a stream ends before the stream begins.
   */
  readonly #spans = new Map<string, RecordedSpan>();

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  /** Begins a span, as the port `Telemetry` describes it. */
  readonly span = (name: string, options: SpanOptions = {}): Span => {
    const { parent, kind } = options;
    if (parent !== undefined && !BEGINS_WORK.has(kind)) {
      if (this.#options.onTrace === undefined && parent.endsWith(NOT_SAMPLED)) return unrecorded(parent);
      const opener = this.#spans.get(parent);
      if (opener) return this.#begin(name, options, opener.trace, opener.spanId, false);
    }
    const context = parent === undefined ? undefined : spanContextOf(parent);
    const traceId = context?.traceId ?? newTraceId();
    const isSampled = this.#options.sampler(traceId, context?.isSampled);
    // A span that nobody reads is not recorded. The spans inside of it find this in their parent's `traceparent`.
    if (!this.#isRead(isSampled))
      return unrecorded(context?.isSampled === false ? parent : traceparentAt(traceId, newSpanId(), false));
    return this.#begin(name, options, new LocalTrace(traceId, isSampled, options.tracestate), context?.spanId, true);
  };

  #isRead(isSampled: boolean): boolean {
    return this.#options.onTrace !== undefined || (isSampled && this.#options.onSpan !== undefined);
  }

  #begin(
    name: string,
    options: SpanOptions,
    trace: LocalTrace,
    parentSpanId: string | undefined,
    isRoot: boolean,
  ): Span {
    const span = new RecordedSpan(name, options, trace, parentSpanId, isRoot, this.#onEnd);
    this.#spans.set(span.traceparent, span);
    trace.begin(span.traceparent);
    return span;
  }

  readonly #onEnd = (span: RecordedSpan): void => {
    const { trace, isRoot } = span;
    trace.end(span, isRoot);
    if (trace.isOver) for (const traceparent of trace.traceparents) this.#spans.delete(traceparent);
    if (trace.isSampled) this.#options.onSpan?.(span);
    if (isRoot) this.#options.onTrace?.(trace);
  };
}

/** Returns a span that is not recorded. */
const unrecorded = (traceparent: string | undefined): Span => ({
  traceparent,
  event: nothing,
  now: Date.now,
  end: nothing,
});
