import type { Context } from 'koa';
import { EVENT_KEEP_ALIVE, serverSentEvent } from './server-sent-events.ts';

/** A format of streamed answers: it turns JSON texts into bytes. */
export interface StreamFormat {
  /** Content types with which a client can ask for the format. */
  readonly types: readonly string[];
  /** Returns the bytes of the n-th JSON text, counted from 1. */
  value(json: string, n: number): string;
  /** Returns the bytes of an error, which ends the stream. */
  error(json: string, n: number): string;
  /** Bytes at the end of a stream without an error. */
  end(n: number): string;
  /** Bytes that can be sent between two values and are not a value, so that no proxy closes a silent connection. */
  readonly keepAlive: string | undefined;
}

/** JSON texts with nothing between them, as in the original. */
const CONCATENATED: StreamFormat = {
  types: ['application/json-seq'],
  value: (json) => json,
  error: (json) => json,
  end: () => '',
  keepAlive: undefined, // clients of the original read each chunk of HTTP as an object
};

/** One JSON text per line. */
const LINES: StreamFormat = {
  types: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
  value: (json) => `${oneLine(json)}\n`,
  error: (json) => `${json}\n`,
  end: () => '',
  // Belongs to the next JSON text; many readers treat an empty line, which other servers send, as an error.
  keepAlive: ' ',
};

/** Server-sent events. */
const EVENTS: StreamFormat = {
  types: ['text/event-stream'],
  value: (json, n) => serverSentEvent({ id: n, event: 'message', data: oneLine(json) }),
  error: (json, n) => serverSentEvent({ id: n, event: 'error', data: json }),
  end: (n) => serverSentEvent({ id: n, event: 'done', data: '{}' }),
  keepAlive: EVENT_KEEP_ALIVE,
};

const FORMATS: readonly StreamFormat[] = [CONCATENATED, LINES, EVENTS];

/** Every content type of streams. The first one is the default. */
export const STREAM_TYPES: readonly string[] = FORMATS.flatMap(({ types }) => types);

/**
 * Returns the format that the client prefers by its `accept`, and the name that the client uses for it. A client that
 * accepts none of them gets the first one, because clients of the original ask for `application/json`.
 */
export function streamFormatFor(ctx: Context): { readonly format: StreamFormat; readonly type: string } {
  const accept = ctx.get('accept');
  const best = accept === '' || accept === '*/*' ? false : ctx.accepts([...STREAM_TYPES]);
  const type = typeof best === 'string' ? best : 'application/json-seq';
  return { type, format: FORMATS.find(({ types }) => types.includes(type)) ?? CONCATENATED };
}

/** Replaces line ends with spaces. JSON has line ends only between its tokens. */
function oneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replaceAll(/[\r\n]+/g, ' ') : json;
}
