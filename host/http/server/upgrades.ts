import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ServerResponse as Response } from 'node:http';
import type { Socket } from 'node:net';

/** Takes the connection of a request for a WebSocket: answers the request with `res`, or opens the WebSocket. */
export type UpgradeListener = (req: IncomingMessage, res: ServerResponse) => void;

/** Time that a refused client has to read the answer. */
const LINGER_MS = 2000;

const asksForSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** Makes newer versions of Node hand over only requests for WebSockets. Older ones ignore this option of a server. */
export const UPGRADE_OPTIONS = { shouldUpgradeCallback: asksForSocket } as const;

/**
 * Makes a server hand over requests for WebSockets. `connection` is the event with which the server takes a connection.
 * Node 20 hands over every request with an `upgrade` header, but a server may ignore this header (RFC 9110, section 7.8).
 * Some clients send `upgrade: h2c` with ordinary requests. So other requests go back to the server without the header.
 */
export function handleUpgrades(
  server: Server,
  connection: 'connection' | 'secureConnection',
  listener: UpgradeListener,
): void {
  server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    if (head.length > 0) socket.unshift(head);
    if (asksForSocket(req)) {
      socket.on('error', () => {}); // the client has left
      listener(req, answerOn(req, socket));
    } else {
      socket.unshift(headWithoutUpgrade(req));
      server.emit(connection, socket);
    }
  });
}

/** Returns the answer to a request whose connection Node has handed over. The connection ends with the answer. */
function answerOn(req: IncomingMessage, socket: Socket): ServerResponse {
  const res = new Response(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.once('finish', () => {
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    socket.end();
    socket.resume();
  });
  return res;
}

/** Returns the head of a request as it was sent, without the header `upgrade`. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() !== 'upgrade') lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
