import type { Definitions } from './definition.ts';

/** Errors of WebSockets. After the handshake, an error is the last message, and its kind decides the close code. */
export const SOCKETS = {
  TooManySockets: { kind: 'rate-limited', when: 'The caller has as many WebSockets as it may have.' },
  SocketsFull: { kind: 'unavailable', when: 'The server has as many WebSockets as it may have.' },
  InvalidAudio: {
    kind: 'invalid-input',
    when: 'Audio of a WebSocket has half a sample, or a value that is not a number.',
  },
  UnsupportedMessage: { kind: 'invalid-input', when: 'A WebSocket takes no such message.' },
  SocketIdle: { kind: 'deadline-exceeded', when: 'The client sent nothing for `sockets.idle_timeout_s`.' },
  SocketLost: { kind: 'deadline-exceeded', when: 'The client did not answer a ping for `sockets.ping_interval_s`.' },
  SocketExpired: { kind: 'deadline-exceeded', when: 'The WebSocket was open for `sockets.max_duration_s`.' },
} as const satisfies Definitions;
