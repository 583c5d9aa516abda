import * as z from 'zod';
import type { EndedTrace } from './kept-traces.ts';
import type { SpanRecord } from './span-record.ts';

const Attributes = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]));
const ErrorType = z.nullable(z.string()).describe('Name of the error that it ended with; null if it ended well.');

const SpanReport = z.object({
  span_id: z.string(),
  parent_span_id: z.nullable(z.string()).describe('The span around it, or the span of the caller of the request.'),
  name: z.string(),
  kind: z.enum(['internal', 'server', 'client', 'producer', 'consumer']),
  start_ms: z.number().describe('Milliseconds from the start of the trace.'),
  duration_ms: z.number(),
  error_type: ErrorType,
  attributes: Attributes,
  events: z.array(z.object({ name: z.string(), at_ms: z.number() })),
});

/** What this process did for one request or one attempt at a task. */
export const TraceSummary = z.object({
  trace_id: z.string().describe('The id of the trace, which the log lines of the request have too.'),
  name: z.string().describe('The method and route of the request, or `aana.task.attempt`.'),
  started_at: z.string().meta({ format: 'date-time' }),
  duration_ms: z.number(),
  error_type: ErrorType,
  attributes: Attributes,
});
export type TraceSummary = z.infer<typeof TraceSummary>;

export const TraceReport = TraceSummary.extend({
  spans: z.array(SpanReport).describe('In the order of their starts.'),
  dropped_spans: z.int().describe('Number of further spans, which are not kept.'),
});
export type TraceReport = z.infer<typeof TraceReport>;

/** Returns a trace without its spans. */
export function traceSummary({ root }: EndedTrace): TraceSummary {
  return {
    trace_id: root.traceId,
    name: root.name,
    started_at: new Date(root.startedAt).toISOString(),
    duration_ms: rounded(root.endedAt - root.startedAt),
    error_type: root.errorType ?? null,
    attributes: { ...root.attributes },
  };
}

/** Returns a trace with its spans. */
export function traceReport(trace: EndedTrace): TraceReport {
  const { startedAt } = trace.root;
  const spans = trace.spans.toSorted((a, b) => a.startedAt - b.startedAt);
  return {
    ...traceSummary(trace),
    spans: spans.map((span) => spanReport(span, startedAt)),
    dropped_spans: trace.droppedSpans,
  };
}

function spanReport(span: SpanRecord, epoch: number): TraceReport['spans'][number] {
  return {
    span_id: span.spanId,
    parent_span_id: span.parentSpanId ?? null,
    name: span.name,
    kind: span.kind,
    start_ms: rounded(span.startedAt - epoch),
    duration_ms: rounded(span.endedAt - span.startedAt),
    error_type: span.errorType ?? null,
    attributes: { ...span.attributes },
    events: span.events.map(({ name, at }) => ({ name, at_ms: rounded(at - epoch) })),
  };
}

/** Returns milliseconds with three digits after the point. */
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
