import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { type ErrorName, statusOf } from '../../../base/core/errors.ts';

/** An answer that the server writes into the connection itself, because no handler sees the request. */
export interface Refusal {
  readonly error: ErrorName;
  readonly message: string;
}

/** Returns the status code of a refusal and its reason, such as `400 Bad Request`. */
export function statusLineOf({ error }: Refusal): string {
  const status = statusOf(error);
  return `${status} ${STATUS_CODES[status]}`;
}

const malformed = (message: string): Refusal => ({ error: 'MalformedRequest', message });

export const REFUSALS = {
  plain: { error: 'HttpsExpected', message: 'this port speaks HTTPS: use https:// instead of http://' },
  host: malformed('the request has no Host header'),
  socket: malformed(
    'a WebSocket needs a connection on which no earlier request waits for its answer, and a request without a body',
  ),
  connect: { error: 'MethodNotAllowed', message: 'this server is not a proxy: it does not accept CONNECT' },
  expectation: ({ headers: { expect } }: IncomingMessage): Refusal => ({
    error: 'ExpectationFailed',
    message: `the expectation ${JSON.stringify(expect)} is not supported`,
  }),
  /** For a request that is not HTTP, is too slow or has too large a head. */
  broken: ({ code }: NodeJS.ErrnoException): Refusal => {
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
      return { error: 'RequestTimeout', message: 'the request took too long to arrive' };
    if (code === 'HPE_HEADER_OVERFLOW')
      return { error: 'HeadTooLarge', message: 'the head of the request is too large' };
    return malformed('the request is not valid HTTP');
  },
} as const;
