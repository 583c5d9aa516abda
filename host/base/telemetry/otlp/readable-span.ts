import { createTraceState, SpanKind as OtelSpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Attributes, SpanKind } from '../../core/telemetry.ts';
import type { SpanRecord } from '../traces/span-record.ts';

/** A span as OpenTelemetry's serialisers take it. */
export type ReadableSpan = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0][number];

const KINDS: Readonly<Record<SpanKind, OtelSpanKind>> = {
  internal: OtelSpanKind.INTERNAL,
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  producer: OtelSpanKind.PRODUCER,
  consumer: OtelSpanKind.CONSUMER,
};
/** The flag of sampled traces. Only their spans are sent. */
const SAMPLED = 1;

/** Returns the function that converts spans of the process that `resource` describes. */
export function readableSpanOf(resource: Attributes, version: string): (span: SpanRecord) => ReadableSpan {
  const from = {
    resource: resourceFromAttributes(resource),
    instrumentationScope: { name: 'aana-host', version },
  };
  return (span) => {
    const { traceId, spanId, parentSpanId, tracestate } = span;
    const state = tracestate === undefined ? undefined : createTraceState(tracestate);
    const context = { traceId, spanId, traceFlags: SAMPLED, ...(state && { traceState: state }) };
    return {
      ...from,
      name: span.name,
      kind: KINDS[span.kind],
      spanContext: () => context,
      ...(parentSpanId !== undefined && {
        parentSpanContext: { traceId, spanId: parentSpanId, traceFlags: SAMPLED, isRemote: span.isParentRemote },
      }),
      startTime: hrTime(span.startedAt),
      endTime: hrTime(span.endedAt),
      duration: hrTime(span.endedAt - span.startedAt),
      ended: true,
      status: { code: span.errorType === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: span.errorType === undefined ? span.attributes : { 'error.type': span.errorType, ...span.attributes },
      events: span.events.map(({ name, at }) => ({ name, time: hrTime(at) })),
      links: [],
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  };
}

/** Returns milliseconds as seconds and nanoseconds. */
function hrTime(ms: number): [seconds: number, nanoseconds: number] {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1000) * 1e6))];
}
