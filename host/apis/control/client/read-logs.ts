import type { LogRecord, OperatorRequest } from '../../http/index.ts';
import type { OperatorClient } from './operator-client.ts';

type LogQuery = NonNullable<OperatorRequest<'get /api/logs'>['query']>;

export interface ReadLogs extends Omit<LogQuery, 'lines'> {
  readonly lines: number;
  /** Whether new lines follow until the application ends. */
  readonly follow: boolean;
}

/** Lines that an application keeps, at most. */
const KEPT_LINES = 2000;

/** Yields the latest log lines of an application, and with `follow` new ones. Throws the reason of the signal. */
export async function* readLogs(
  operator: OperatorClient,
  { follow, lines, ...filter }: ReadLogs,
  signal?: AbortSignal,
): AsyncGenerator<LogRecord, void, undefined> {
  const query = { ...filter, lines: Math.min(lines, KEPT_LINES) };
  if (follow) yield* operator.events('get /api/logs/events', { query }, { signal });
  else if (lines > 0) yield* (await operator.ask('get /api/logs', { query }, { signal })).records;
}
