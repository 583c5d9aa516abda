import type { Span, SpanKind, SpanOptions } from '../../core/telemetry.ts';
import { newSpanId, newTraceId, placeOf, traceparentAt } from './ids.ts';
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
/** The end of the place of a trace that is not sampled. */
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
    const place = parent === undefined ? undefined : placeOf(parent);
    const traceId = place?.traceId ?? newTraceId();
    const isSampled = this.#options.sampler(traceId, place?.isSampled);
    // A span that nobody reads is not recorded. The spans inside of it find the decision in their parent's place.
    if (!this.#isRead(isSampled))
      return unrecorded(place?.isSampled === false ? parent : traceparentAt(traceId, newSpanId(), false));
    return this.#begin(name, options, new LocalTrace(traceId, isSampled, options.tracestate), place?.spanId, true);
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
    if (trace.isOver) for (const place of trace.places) this.#spans.delete(place);
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
