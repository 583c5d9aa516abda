import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hangUp } from './pending-answers.ts';

/** Takes the connection of a request for another protocol: answers the request with `res`, or begins the protocol. */
export type UpgradeListener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** Requests at which Node's parser stops: those with `upgrade`, and CONNECT. */
const stopping = new WeakSet<IncomingMessage>();

/**
 * Whether Node's parser stops after a request, because it asks for another protocol. Where such a request is answered
 * like others, Node drops what came with its last bytes. So its connection must end with its answer.
 */
export function stopsParser(req: IncomingMessage): boolean {
  return stopping.has(req);
}

/** Whether a request asks for a protocol, such as `websocket`. */
export const asksFor = ({ headers }: IncomingMessage, protocol: string): boolean =>
  headers.upgrade?.toLowerCase() === protocol;

/**
 * Returns the class of the requests of a server that hands over a connection only if `isHandedOver`. All other requests
 * are ordinary ones, in order, also those with `upgrade: h2c`, which a server may ignore (RFC 9110, section 7.8). Node
 * hands over what has a true `upgrade`; the option `shouldUpgradeCallback` does not exist in Node 20.
 */
export function requestClass(isHandedOver: (req: IncomingMessage) => boolean): typeof IncomingMessage {
  const decided = new WeakMap<IncomingMessage, boolean>();
  return class extends IncomingMessage {
    /** Read after the head has arrived. */
    get upgrade(): boolean {
      if (!stopping.has(this)) return false;
      const is = decided.get(this) ?? isHandedOver(this);
      decided.set(this, is);
      return is;
    }

    /** Set by the parser before it reads the head, and by servers. */
    set upgrade(stops: boolean | null) {
      if (stops) stopping.add(this);
    }
  };
}

/** Returns the answer to a request whose connection Node has handed over. The connection ends with the answer. */
export function takeConnection(req: IncomingMessage, socket: Socket, head: Buffer): ServerResponse {
  if (head.length > 0) socket.unshift(head);
  socket.on('error', () => {}); // the client has left
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.once('finish', () => hangUp(socket));
  return res;
}
