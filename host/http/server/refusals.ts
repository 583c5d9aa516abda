import type { IncomingMessage } from 'node:http';

/** An answer that the server writes into the connection itself, because no handler sees the request. */
export interface Refusal {
  /** Status code and reason, such as `400 Bad Request`. */
  readonly status: string;
  readonly error: string;
  readonly message: string;
}

const badRequest = (message: string, error = 'MalformedRequest'): Refusal => ({
  status: '400 Bad Request',
  error,
  message,
});

export const REFUSALS = {
  plain: badRequest('this port speaks HTTPS: use https:// instead of http://', 'HttpsExpected'),
  host: badRequest('the request has no Host header'),
  socket: badRequest(
    'a WebSocket needs a connection on which no earlier request waits for its answer, and a request without a body',
  ),
  connect: {
    status: '405 Method Not Allowed',
    error: 'MethodNotAllowed',
    message: 'this server is not a proxy: it does not accept CONNECT',
  },
  expectation: ({ headers: { expect } }: IncomingMessage): Refusal => ({
    status: '417 Expectation Failed',
    error: 'ExpectationFailed',
    message: `the expectation ${JSON.stringify(expect)} is not supported`,
  }),
  /** For a request that is not HTTP, is too slow or has too large a head. */
  broken: ({ code }: NodeJS.ErrnoException): Refusal => {
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
      return { status: '408 Request Timeout', error: 'RequestTimeout', message: 'the request took too long to arrive' };
    if (code === 'HPE_HEADER_OVERFLOW')
      return {
        status: '431 Request Header Fields Too Large',
        error: 'RequestTooLarge',
        message: 'the head of the request is too large',
      };
    return badRequest('the request is not valid HTTP');
  },
} as const;
