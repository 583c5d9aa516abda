import type { Context } from 'koa';
import { EVENT_KEEP_ALIVE, serverSentEvent } from './server-sent-events.ts';

/** How JSON texts become the bytes of a streamed answer. */
export interface StreamFormat {
  /** Content types that a client can ask for it with. */
  readonly types: readonly string[];
  /** The bytes of the n-th JSON text, counted from 1. */
  value(json: string, n: number): string;
  /** The bytes of an error, which is the last thing sent. */
  error(json: string, n: number): string;
  /** What is sent when all is well and there is no more. */
  end(n: number): string;
  /** What can be sent between two values without being one, so that nobody on the way takes the connection for dead. */
  readonly keepAlive: string | undefined;
}

/** JSON texts with nothing between them, as the original sends them. */
const CONCATENATED: StreamFormat = {
  types: ['application/json-seq'],
  value: (json) => json,
  error: (json) => json,
  end: () => '',
  keepAlive: undefined, // clients of the original take each chunk of HTTP for an object
};

/** One JSON text a line. */
const LINES: StreamFormat = {
  types: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
  value: (json) => `${oneLine(json)}\n`,
  error: (json) => `${json}\n`,
  end: () => '',
  keepAlive: ' ', // space before a JSON text is part of it; an empty line, which others send, is an error to many readers
};

/** Server-sent events. */
const EVENTS: StreamFormat = {
  types: ['text/event-stream'],
  value: (json, n) => serverSentEvent(n, 'message', oneLine(json)),
  error: (json, n) => serverSentEvent(n, 'error', json),
  end: (n) => serverSentEvent(n, 'done', '{}'),
  keepAlive: EVENT_KEEP_ALIVE,
};

const FORMATS: readonly StreamFormat[] = [CONCATENATED, LINES, EVENTS];

/** Every content type that streams can have, the one without a wish first. */
export const STREAM_TYPES: readonly string[] = FORMATS.flatMap(({ types }) => types);

/**
 * The format that the client likes best by its `accept`, and the name that it has for it. Who accepts none of them gets
 * the first one all the same: clients of the original ask for `application/json`, and get it too.
 */
export function streamFormatFor(ctx: Context): { readonly format: StreamFormat; readonly type: string } {
  const accept = ctx.get('accept');
  const best = accept === '' || accept === '*/*' ? false : ctx.accepts([...STREAM_TYPES]);
  const type = typeof best === 'string' ? best : 'application/json-seq';
  return { type, format: FORMATS.find(({ types }) => types.includes(type)) ?? CONCATENATED };
}

/** JSON has line ends only where a space would do. */
function oneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json;
}
