import { type WebSocket, WebSocketServer } from 'ws';
import type { Context } from 'koa';
import { cancelledError } from '../../../base/core/errors.ts';
import { HttpError } from '../response/error-body.ts';

export interface HandshakeOptions {
  /** Chosen if the client offers it. */
  readonly subprotocol: string;
  readonly maxMessageBytes: number;
}

const NOTHING = Buffer.alloc(0);

/** Accepts the WebSocket of a request. Throws `MalformedRequest` for a wrong handshake. */
export function shakeHands(ctx: Context, { subprotocol, maxMessageBytes }: HandshakeOptions): WebSocket {
  const { req, res } = ctx;
  const { socket } = res;
  if (!socket?.readable || !socket.writable) throw cancelledError('the client closed the connection');
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false, // audio does not shrink, and its contexts take much memory
    maxPayload: maxMessageBytes,
    handleProtocols: (offered) => offered.has(subprotocol) && subprotocol,
  });
  const requestId = res.getHeader('x-request-id');
  server.on('headers', (lines) => lines.push(`x-request-id: ${String(requestId)}`));
  let problem = 'the handshake is incomplete';
  server.on('wsClientError', (error) => (problem = error.message));
  let opened: WebSocket | undefined;
  server.handleUpgrade(req, socket, NOTHING, (one) => (opened = one));
  if (!opened)
    throw new HttpError('MalformedRequest', `the request opens no WebSocket: ${problem}`, {
      headers: { 'sec-websocket-version': '13' },
    });
  res.detachSocket(socket);
  res.statusCode = 101;
  ctx.respond = false;
  return opened;
}
