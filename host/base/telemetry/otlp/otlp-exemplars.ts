// OpenTelemetry's serialisers of metrics leave exemplars out, so they are added to the written messages. Numbers of
// fields are those of opentelemetry-proto, metrics.proto.
import type { Exemplar } from '../metric-data.ts';
import { spanContextOf } from '../traces/ids.ts';
import type { ResourceMetrics } from './otlp-metrics.ts';
import type { Serializer } from './otlp-sender.ts';

/** The points of histograms in a JSON message, as far as they are read here. */
interface JsonMessage {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly { readonly histogram?: { readonly dataPoints: { exemplars?: unknown }[] } }[];
    }[];
  }[];
}

/** Returns the exemplars of each point of a histogram, in the order in which the points are written. */
function exemplarsIn(metrics: ResourceMetrics): (readonly Exemplar[])[] {
  const points: readonly object[] = metrics.scopeMetrics.flatMap((scope) =>
    scope.metrics.flatMap((metric): readonly object[] => ('isMonotonic' in metric ? [] : metric.dataPoints)),
  );
  return points.flatMap((point) => ('exemplars' in point ? [point.exemplars as readonly Exemplar[]] : []));
}

/** Returns a serialiser of JSON that also writes exemplars. */
export function jsonWithExemplars<P>(serializer: Serializer<ResourceMetrics, P>): Serializer<ResourceMetrics, P> {
  return withExemplars(serializer, (message, exemplars) => {
    const json = JSON.parse(Buffer.from(message).toString()) as JsonMessage;
    const points = json.resourceMetrics.flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(({ histogram }) => histogram?.dataPoints ?? [])),
    );
    for (const [at, of] of exemplars.entries()) {
      const point = points[at];
      if (point && of.length > 0) point.exemplars = of.map(jsonOf);
    }
    return Buffer.from(JSON.stringify(json));
  });
}

function jsonOf({ value, at, traceparent }: Exemplar): Readonly<Record<string, unknown>> {
  const { traceId, spanId } = spanContextOf(traceparent);
  return { timeUnixNano: `${at}000000`, asDouble: value, traceId, spanId };
}

/** The fields from a message with metrics to the points of its histograms. */
const TO_POINTS = [
  1, // ExportMetricsServiceRequest.resource_metrics
  2, // ResourceMetrics.scope_metrics
  2, // ScopeMetrics.metrics
  9, // Metric.histogram
  1, // Histogram.data_points
] as const;

/** Returns a serialiser of protobuf messages that also writes exemplars. */
export function protobufWithExemplars<P>(serializer: Serializer<ResourceMetrics, P>): Serializer<ResourceMetrics, P> {
  return withExemplars(serializer, (message, exemplars) => {
    let at = 0;
    return rewritten(Buffer.from(message), TO_POINTS, (point) =>
      Buffer.concat([point, ...(exemplars[at++] ?? []).map(protobufOf)]),
    );
  });
}

/** Returns an exemplar with the head of field 8 of a point. */
function protobufOf({ value, at, traceparent }: Exemplar): Buffer {
  const { traceId, spanId } = spanContextOf(traceparent);
  const numbers = Buffer.alloc(18);
  numbers[0] = headOf(2, FIXED64); // time_unix_nano
  numbers.writeBigUInt64LE(BigInt(at) * 1_000_000n, 1);
  numbers[9] = headOf(3, FIXED64); // as_double
  numbers.writeDoubleLE(value, 10);
  const ids = [headOf(4, DELIMITED), 8, ...Buffer.from(spanId, 'hex'), headOf(5, DELIMITED), 16];
  const body = Buffer.concat([numbers, Buffer.from(ids), Buffer.from(traceId, 'hex')]);
  return Buffer.concat([Buffer.from([headOf(8, DELIMITED), body.length]), body]);
}

function withExemplars<P>(
  { serializeRequest, deserializeResponse }: Serializer<ResourceMetrics, P>,
  add: (message: Uint8Array, exemplars: readonly (readonly Exemplar[])[]) => Uint8Array,
): Serializer<ResourceMetrics, P> {
  return {
    deserializeResponse,
    serializeRequest: (metrics) => {
      const message = serializeRequest(metrics);
      const exemplars = exemplarsIn(metrics);
      return message && exemplars.some((of) => of.length > 0) ? add(message, exemplars) : message;
    },
  };
}

// The kinds of fields in protobuf.
const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;

/** Returns the head of a field below 16. */
const headOf = (field: number, kind: number): number => (field << 3) | kind;

/** Returns a message in which `change` has replaced the messages at the end of a path of fields. */
function rewritten(message: Buffer, path: readonly number[], change: (message: Buffer) => Buffer): Buffer {
  const [field, ...rest] = path;
  if (field === undefined) return change(message);
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length;) {
    const head = varintAt(message, at);
    const end = endOf(message, head);
    if (head.value === headOf(field, DELIMITED)) {
      const inside = rewritten(message.subarray(varintAt(message, head.end).end, end), rest, change);
      parts.push(message.subarray(at, head.end), varintOf(inside.length), inside);
    } else parts.push(message.subarray(at, end));
    at = end;
  }
  return Buffer.concat(parts);
}

interface Varint {
  readonly value: number;
  readonly end: number;
}

/** Returns the end of the field that begins with a head. */
function endOf(message: Buffer, head: Varint): number {
  const kind = head.value & 7;
  if (kind === VARINT) return varintAt(message, head.end).end;
  if (kind === FIXED64) return head.end + 8;
  if (kind !== DELIMITED) return head.end + 4;
  const { value, end } = varintAt(message, head.end);
  return end + value;
}

/** Numbers above 2^53 lose digits, but only lengths and heads are used. */
function varintAt(message: Buffer, from: number): Varint {
  let value = 0;
  for (let at = from, factor = 1; ; at += 1, factor *= 128) {
    const byte = message[at] ?? 0;
    value += (byte & 127) * factor;
    if (byte < 128) return { value, end: at + 1 };
  }
}

function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
