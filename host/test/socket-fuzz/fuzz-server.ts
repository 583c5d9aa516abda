import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import type { Context } from 'koa';
import { WebSocketServer } from 'ws';
import { createLogger } from '../../base/core/log/logger.ts';
import { type RawServer, rawServer, type Transport } from '../../apis/http/fixtures/raw-server.ts';
import { letBodyCome } from '../../apis/http/server/continue.ts';

/** A server that answers `/7?answer=chunks&delay=2&read=true` with `n7`. */
export interface FuzzServer extends RawServer {
  /** The largest number of listeners that a connection had when a request came. */
  mostListeners(): number;
  /** Lines of the log at the level of errors. */
  readonly errors: readonly string[];
  /** Requests that were neither answered nor given up. */
  running(): number;
}

export async function fuzzServer(transport: Transport): Promise<FuzzServer> {
  const errors: string[] = [];
  const log = createLogger({ level: 'error', format: 'text', write: (line) => void errors.push(line) });
  let [most, running] = [0, 0];
  const note = ({ socket }: IncomingMessage): void => {
    most = Math.max(
      most,
      socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0),
    );
  };
  const callback = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    note(req);
    running += 1;
    res.once('close', () => (running -= 1));
    await answer(req, res);
  };
  const upgrade = (req: IncomingMessage, res: ServerResponse): void => {
    note(req);
    const { socket } = res;
    if (!socket?.readable || !socket.writable) return;
    const server = new WebSocketServer({ noServer: true, clientTracking: false });
    server.on('headers', (lines) => lines.push(`x-n: ${numberOf(req)}`));
    server.on('wsClientError', (error) => {
      res.statusCode = 400;
      res.end(error.message);
    });
    server.handleUpgrade(req, socket, Buffer.alloc(0), (opened) => {
      res.detachSocket(socket);
      opened.on('error', () => {}); // the client sends what is not a frame
      opened.close();
    });
  };
  const server = await rawServer(transport, callback, { upgrade, log });
  return { ...server, errors, mostListeners: () => most, running: () => running };
}

const numberOf = ({ url }: IncomingMessage): string => /^\/(\d+)/.exec(url ?? '')?.[1] ?? 'none';

const pause = async (turns: number): Promise<void> => {
  if (turns > 0) await new Promise((resolve) => setTimeout(resolve, turns));
};

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { searchParams: wish } = new URL(req.url ?? '', 'http://x');
  const delay = Number(wish.get('delay'));
  if (wish.get('read') === 'true') {
    letBodyCome({ req, res } as Context);
    await finished(req.resume()).catch(() => {});
    if (!req.complete) return; // the client has left, or the rest is not HTTP
  }
  await pause(delay);
  const body = `n${numberOf(req)}`;
  if (wish.get('answer') !== 'chunks') {
    res.setHeader('content-length', body.length);
    res.end(body);
    return;
  }
  for (const letter of body) {
    res.write(letter);
    if (letter === 'n') await pause(delay);
  }
  res.end();
}
