import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AanaError, toErrorRecord } from '../core/errors.ts';
import { randomSuffix } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { runningServers } from './addresses.ts';
import { type Address, type ControlHandlers, type ControlOperation, operations } from './protocol.ts';

const maxBodyBytes = 65_536;

export interface ControlServerOptions {
  /** Where the socket and the address file go; made, where it is not there, for this user alone. */
  readonly dir: string;
  /** Where the server listens for requests, for people. */
  readonly url: string;
  readonly handlers: ControlHandlers;
  readonly log: Logger;
}

/** What the address of a Unix socket can hold on every system, in bytes. */
const longestPath = 103;

/**
 * Answers the commands of this user on a Unix socket, and says in an address file where it is. Each server has a socket of its own. Gives
 * a function that ends it.
 */
export async function startControl({ dir, url, handlers, log }: ControlServerOptions): Promise<() => Promise<void>> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await runningServers(dir); // removes what killed ones left
  const id = `${process.pid}-${randomSuffix()}`;
  const file = join(dir, `${id}.json`);
  const besideFile = join(dir, `${id}.sock`);
  const socket = Buffer.byteLength(besideFile) <= longestPath ? besideFile : join(tmpdir(), `aana-host-${id}.sock`);
  const server = createServer((request, response) => {
    void answer(request, response, handlers).catch((error: unknown) => {
      log.warn('control request failed', { error });
      response.destroy();
    });
  });
  await listenPrivately(server, socket);
  server.on('error', (error) => log.warn('control socket failed', { error }));
  await writeFile(file, `${JSON.stringify({ pid: process.pid, url, socket } satisfies Address)}\n`, { mode: 0o600 });
  return async () => {
    await rm(file, { force: true });
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    await rm(socket, { force: true });
  };
}

/** The socket is made by `listen` itself, before anything else can run: at no time can another user connect. */
function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const before = process.umask(0o177);
    try {
      server.listen(path, resolve);
    } finally {
      process.umask(before);
    }
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, handlers: ControlHandlers): Promise<void> {
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  try {
    const operation = (request.url ?? '').slice(1);
    if (request.method !== 'POST' || !Object.hasOwn(operations, operation)) throw new AanaError('NotFound', 'not-found', `there is no operation ${operation}: the server is of another version`);
    send(200, { value: await run(operation as ControlOperation, await bodyOf(request), handlers) });
  } catch (error) {
    const { name, kind, message, data } = toErrorRecord(error);
    send(500, { error: { name, kind, message, data } });
  }
}

async function run<O extends ControlOperation>(operation: O, body: string, handlers: ControlHandlers): Promise<unknown> {
  const args = operations[operation].args.parse(JSON.parse(body || '{}'));
  return (handlers[operation] as (args: unknown) => Promise<unknown>)(args);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > maxBodyBytes) throw new AanaError('RequestTooLarge', 'too-large', 'the control request is too large');
  }
  return body;
}
