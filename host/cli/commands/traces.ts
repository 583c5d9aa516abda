import { askOperator } from '../../apis/control/index.ts';
import type { OperatorAnswer } from '../../apis/http/index.ts';
import type { ApplicationCommand } from './application.ts';

type Trace = OperatorAnswer<'get /api/traces'>['traces'][number];
type DetailedTrace = OperatorAnswer<'get /api/traces/{trace_id}'>['traces'][number];
type Span = DetailedTrace['spans'][number];

/** The command `traces`. Prints the last failed and slow requests, or those of one trace with their spans. */
export async function applicationTraces(
  { out, ...at }: ApplicationCommand,
  traceId: string | undefined,
  asJson: boolean,
): Promise<number> {
  if (traceId === undefined) {
    const { traces } = await askOperator(at, 'get /api/traces', {});
    out.write(asJson ? json(traces) : traces.map(lineOf).join(''));
  } else {
    const given = { params: { trace_id: traceId } };
    const { traces } = await askOperator(at, 'get /api/traces/{trace_id}', given);
    out.write(asJson ? json(traces) : traces.map(waterfall).join('\n'));
  }
  return 0;
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

function lineOf({ trace_id: id, name, started_at: startedAt, duration_ms: ms, error_type: error }: Trace): string {
  return `${startedAt} ${milliseconds(ms)} ${id} ${name}${error === null ? '' : ` ${error}`}\n`;
}

/** Returns the spans of a trace as lines, each indented below the span around it. */
function waterfall({ spans, dropped_spans: dropped, ...trace }: DetailedTrace): string {
  const depths = new Map<string, number>();
  const lines = spans.map((span) => {
    const depth = (depths.get(span.parent_span_id ?? '') ?? -1) + 1;
    depths.set(span.span_id, depth);
    return spanLine(span, depth);
  });
  const rest = dropped === 0 ? '' : `… and ${dropped} further spans\n`;
  return `${lineOf(trace)}${lines.join('')}${rest}`;
}

function spanLine(
  { start_ms: start, duration_ms: ms, name, error_type: error, attributes }: Span,
  depth: number,
): string {
  const facts = Object.entries(attributes).map(([key, value]) => `${key}=${String(value)}`);
  const end = [...(error === null ? [] : [error]), ...facts].join(' ');
  return `${milliseconds(start)} ${milliseconds(ms)} ${'  '.repeat(depth)}${name} ${end}\n`;
}

const milliseconds = (ms: number): string => `${ms.toFixed(1)} ms`.padStart(12);
