import type { SpanAttributes, SpanKind } from '../../core/telemetry.ts';

/** Something that happened during a span. */
export interface SpanEvent {
  readonly name: string;
  /** Milliseconds since the epoch, with fractions. */
  readonly at: number;
}

/** A span that has ended. Times are milliseconds since the epoch, with fractions. */
export interface SpanRecord {
  readonly name: string;
  readonly kind: SpanKind;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Undefined when the trace begins with this span. */
  readonly parentSpanId: string | undefined;
  /** Whether the parent belongs to another process, or to another request. */
  readonly isParentRemote: boolean;
  /** The `tracestate` header of the request. */
  readonly tracestate: string | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: SpanAttributes;
  readonly events: readonly SpanEvent[];
  /**
   * The name of the error of failed work, and undefined for other work. Messages are left out, because they can quote
   * the contents of requests.
   */
  readonly errorType: string | undefined;
}
