import type { ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { LogLevel, LogRecord } from '../../core/log/logger.ts';
import type { Attributes } from '../../core/telemetry.ts';

/** A log line as OpenTelemetry's serialisers take it. */
type OtlpLog = Parameters<typeof ProtobufLogsSerializer.serializeRequest>[0][number];

/** The numbers of `SeverityNumber` in OpenTelemetry's model of logs. */
const SEVERITIES: Readonly<Record<LogLevel, number>> = { debug: 5, info: 9, warn: 13, error: 17 };
const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;

/**
 * Returns the function that converts log lines of the process that `resource` describes. The message is the body, and
 * the fields are the attributes, except `traceId` and `spanId`, which have places of their own.
 */
export function otlpLogOf(resource: Attributes, version: string): (record: LogRecord) => OtlpLog {
  const from = { resource: resourceFromAttributes(resource), instrumentationScope: { name: 'aana-host', version } };
  return ({ time, level, message, fields }) => {
    const { traceId, spanId, ...attributes } = fields;
    const isSampled = isId(spanId, SPAN_ID);
    const ms = Date.parse(time);
    const at: [number, number] = [Math.floor(ms / 1000), (ms % 1000) * 1e6];
    return {
      ...from,
      hrTime: at,
      hrTimeObserved: at,
      severityNumber: SEVERITIES[level],
      severityText: level.toUpperCase(),
      body: message,
      ...(isId(traceId, TRACE_ID) && {
        spanContext: { traceId, spanId: isSampled ? spanId : '', traceFlags: isSampled ? 1 : 0 },
      }),
      attributes: attributes as OtlpLog['attributes'], // JSON, because `LogRing` has made them JSON
      droppedAttributesCount: 0,
    };
  };
}

function isId(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}
