// Throws in each listener that the host registers on servers, connections and WebSockets, one after the other. The
// process must go on, and other connections too.
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from 'koa';
import { WebSocket, WebSocketServer } from 'ws';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseServer } from '../../control/index.ts';
import { startControl } from '../../control/server/index.ts';
import type { ControlHandlers } from '../../control/server/handlers.ts';
import type { Contained } from '../../../base/core/net/contained.ts';
import { createLogger, type Logger, silentLogger } from '../../../base/core/log/logger.ts';
import { hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { type RawServer, rawServer, type Transport } from '../fixtures/raw-server.ts';
import { shakeHands } from '../sockets/handshake.ts';
import { OpenSocket } from '../sockets/open-socket.ts';

type Listener = ((...args: never[]) => unknown) & { readonly listener?: Listener };

/** Listeners that cannot fail: they do nothing, stop a timer, end the connection, or settle a promise. */
const HARMLESS = [
  /^\([^)]*\) => \{\s*\}$/,
  /^\(\) => clearTimeout\(\w+\)$/,
  /^\(\) => (void |\{ )?([\w#]+\.)*[\w#]*socket\.(destroy|end|terminate)\(\)$/i,
  /^\(_, socket\) => socket\.destroy\(\)$/,
  /^\(\) => resolve\(\)$/,
  /^function \(\) \{ \[native code\] \}$/,
];
/** Listeners without a connection of a client: of a server that starts, of a look for servers, and of a handshake,
 * whose errors go to the listener that begins it. */
const OTHERS = /server\/listening\.[jt]s|control\/addresses\.[jt]s|handshake\.[jt]s/;

/** A listener whose event no client can cause. */
const UNREACHABLE = /control-server\.[jt]s\S* error$/;

/** What `once` registers: up to Node 24, and from Node 26. */
const ONCE = new Set(['bound onceWrapper', 'wrapper']);

/** Looks at each listener that the host registers while it exists. The listener at `failing` throws once. */
class Registrations implements Disposable {
  readonly contained = new Set<string>();
  readonly uncontained: string[] = [];
  readonly #on = EventEmitter.prototype.on;
  #failing: string | undefined;
  hasThrown = false;
  isArmed: boolean;

  constructor(failing?: string) {
    this.#failing = failing;
    this.isArmed = failing?.endsWith('listening') === true; // before the first connection
    const look = (emitter: EventEmitter, event: string, listener: Listener): void =>
      this.#look(emitter, event, listener);
    const on = this.#on;
    EventEmitter.prototype.on = function (this: EventEmitter, event, listener) {
      look(this, String(event), listener as Listener);
      return on.call(this, event, listener);
    };
  }

  [Symbol.dispose](): void {
    EventEmitter.prototype.on = this.#on;
  }

  #look(emitter: EventEmitter, event: string, given: Listener): void {
    if (![Server, Socket, WebSocket, WebSocketServer].some((kind) => emitter instanceof kind)) return;
    const frames = new Error().stack?.split('\n').slice(1) ?? [];
    const caller = frames.find((line) => !/contained-listeners|node:events|\[as on\]|\.on \(node:/.test(line));
    const place = /\/host\/((?:apis\/http|inference\/rpc|apis\/control)\/.*):\d+\)?$/.exec(caller ?? '')?.[1];
    if (place === undefined || place.includes('/fixtures/')) return;
    const site = `${place} ${event}`;
    const listener = ONCE.has(given.name) ? given.listener! : given;
    if (listener.name !== 'wrapped' || !listener.listener) {
      if (!HARMLESS.some((text) => text.test(String(listener))) && !OTHERS.test(site))
        this.uncontained.push(`${site}: ${String(listener)}`);
      return;
    }
    if (!UNREACHABLE.test(site)) this.contained.add(site);
    const contained = listener as unknown as Contained<unknown[]>;
    const inner = contained.listener;
    contained.listener = (...args) => {
      if (this.#failing !== site || !this.isArmed || this.hasThrown) return inner(...args);
      this.hasThrown = true;
      throw new Error(`thrown at ${site}`);
    };
  }
}

const SOCKET_LIMITS = {
  ...{ max_sockets: 5, max_sockets_per_caller: 5, max_message_bytes: 1000, max_buffered_bytes: 1000 },
  ...{ ping_interval_s: 10, idle_timeout_s: 10, max_duration_s: 10 },
};

/** Answers requests, and echoes the messages of WebSockets. */
async function serve(transport: Transport, log: Logger): Promise<RawServer> {
  const callback = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    for await (const _ of req);
    res.end('here');
  };
  const upgrade = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const options = { subprotocol: 'echo', maxMessageBytes: 1000 };
    const socket = new OpenSocket(shakeHands({ req, res } as Context, options), { requestId: 'r' }, SOCKET_LIMITS);
    for await (const message of socket.messages) await socket.send(String(message));
  };
  return rawServer(transport, callback, { upgrade, log, maxConnections: 8 });
}

const head = (...lines: string[]): string => ['GET / HTTP/1.1', 'host: x', ...lines, '', ''].join('\r\n');
const SOCKET_HEAD = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
const KEY = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==';
const frame = (opcode: number, text: string): string =>
  `${String.fromCharCode(0x80 | opcode, 0x80 | text.length)}\0\0\0\0${text}`;
/** What clients send, each on a connection of its own. The connections of WebSockets end with a close frame. */
const CLIENTS = [
  head('connection: close'),
  head('connection: close', 'expect: 100-continue'),
  head('expect: magic'),
  'no http\r\n\r\n',
  head(...SOCKET_HEAD),
  head(...SOCKET_HEAD, KEY) + frame(1, 'hello') + frame(10, '') + frame(8, ''),
  head(...SOCKET_HEAD, KEY) + frame(3, 'no such frame'),
];

const ended = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.resume().once('close', () => resolve());
  });

/** Uses everything that has listeners, while the listener at `failing` throws. */
async function use(transport: Transport, failing?: string): Promise<Registrations> {
  using seen = new Registrations(failing);
  const lines: string[] = [];
  const log = createLogger({ level: 'error', format: 'text', write: (line) => void lines.push(line) });
  const folder = mkdtempSync(join(tmpdir(), 'aana-listeners-'));
  const at = { url: 'http://x', host: 'x', port: 1 };
  const control = await startControl({
    dir: folder,
    at,
    version: '1',
    callback: (_req, res) => res.end(),
    limits: { header_timeout_s: 5, request_timeout_s: 5, keep_alive_timeout_s: 5 },
    handlers: {} as ControlHandlers,
    log: silentLogger,
  });
  {
    await using server = await serve(transport, log);
    const witness = server.open();
    const answers = answersOf(witness);
    witness.write(head());
    await answers.next();
    seen.isArmed = true;
    for (const bytes of CLIENTS) {
      const socket = server.open();
      socket.write(bytes, 'latin1');
      await ended(socket);
    }
    if (transport === 'HTTPS') {
      const plain = server.openPlain();
      plain.write(head());
      await ended(plain);
    }
    const many = Array.from({ length: 9 }, () => server.open());
    await Promise.race(many.map(ended)); // one is over the limit
    for (const socket of many) socket.destroy();
    const { socket: path } = await chooseServer(folder);
    const attached = connect(path).on('error', () => {});
    attached.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: aana-frames\r\n\r\n');
    attached.write('no frame at all, but long enough to have a length and a content');
    await ended(attached);
    const last = await lastAnswer(server);
    assert.match(last, /^HTTP\/1\.1 200 /, 'a later connection is served');
    witness.write(head());
    assert.match(String((await answers.next()).value), /here$/, 'an earlier connection is served');
    witness.destroy();
  }
  await control.close();
  rmSync(folder, { recursive: true, force: true });
  return seen;
}

/** Returns the short answers of a connection, each of which comes as one piece. */
const answersOf = (socket: Socket): AsyncIterator<unknown> => socket[Symbol.asyncIterator]();

/** Returns the answer on the first connection below the limit. */
async function lastAnswer(server: RawServer): Promise<string> {
  for (;;) {
    const socket = server.open();
    let text = '';
    socket.on('data', (bytes) => (text += String(bytes)));
    socket.write(head('connection: close'));
    await ended(socket);
    if (text !== '') return text;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const Listeners = suite('listeners of connections');

for (const transport of hasOpenssl ? (['HTTP', 'HTTPS'] as const) : (['HTTP'] as const))
  Listeners(`that fail on ${transport} end their connection, and nothing else`, async () => {
    const { contained, uncontained } = await use(transport);
    assert.equal(uncontained, []);
    assert.ok(contained.size >= 12, [...contained].join('\n'));
    for (const site of contained) {
      if (transport === 'HTTPS' && !/tls-port|listening$/.test(site)) continue; // the others are the same on HTTP
      const { hasThrown } = await use(transport, site);
      assert.ok(hasThrown, `${site} was not called`);
    }
  });

Listeners.run();
