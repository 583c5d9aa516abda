// Requests that Node does not answer in the ordinary way, behind requests whose answers are still pending.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type RawServer, rawServer, type Transport, TRANSPORTS } from '../fixtures/raw-server.ts';
import { eventually } from '../fixtures/eventually.ts';

/** A server that answers each path with itself: paths below `/held` after `release`, `/never` never, others at once. */
interface Held extends RawServer {
  /** Paths of requests that have arrived, that opened a WebSocket, and whose client left before the answer. */
  readonly seen: { readonly arrived: string[]; readonly upgraded: string[]; readonly left: string[] };
  /** The connection of the last request. */
  socket(): Socket | undefined;
  release(): void;
}

async function serve(transport: Transport): Promise<Held> {
  const seen: Held['seen'] = { arrived: [], upgraded: [], left: [] };
  const waiting: (() => void)[] = [];
  let socket: Socket | undefined;
  const callback = (req: IncomingMessage, res: ServerResponse): void => {
    const { url = '' } = req;
    seen.arrived.push(url);
    socket = req.socket;
    res.once('close', () => {
      if (!res.writableFinished) seen.left.push(url);
    });
    const answer = (): void => void res.end(url);
    req.resume();
    if (url.startsWith('/held')) waiting.push(answer);
    else if (url !== '/never') answer();
  };
  const upgrade = (req: IncomingMessage, res: ServerResponse): void => {
    seen.upgraded.push(req.url ?? '');
    res.end(`upgraded ${req.url}`);
  };
  const at = await rawServer(transport, callback, { upgrade });
  const release = (): void => {
    for (const answer of waiting.splice(0)) answer();
  };
  return { ...at, seen, socket: () => socket, release };
}

const get = (path: string, ...lines: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'host: x', ...lines, '', ''].join('\r\n');
const upgrade = (protocol: string): string[] => ['connection: upgrade', `upgrade: ${protocol}`];

/** What comes behind a pending request, and the answer that the client gets to it. */
const BEHIND: readonly (readonly [what: string, bytes: string, answer: RegExp])[] = [
  ['a WebSocket', get('/b', ...upgrade('websocket')), /^HTTP\/1\.1 400 [^]*no earlier request/],
  ['another protocol', get('/b', ...upgrade('h2c')), /^HTTP\/1\.1 200 [^]*connection: close[^]*\r\n\/b$/i],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n', /^HTTP\/1\.1 405 [^]*CONNECT/],
  ['a wrong expectation', get('/b', 'expect: magic'), /^HTTP\/1\.1 417 [^]*magic/],
  ['a request without Host', 'GET /b HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 [^]*no Host header/],
  ['what is not HTTP', 'this is not http\r\n\r\n', /^HTTP\/1\.1 400 [^]*not valid HTTP/],
  [
    'a body that is not HTTP',
    'POST /never HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\nno size\r\n',
    /^HTTP\/1\.1 400 [^]*not valid HTTP/,
  ],
  ['a head that is too large', get('/b', `x: ${'y'.repeat(20_000)}`), /^HTTP\/1\.1 431 /],
];

for (const transport of TRANSPORTS) {
  const Server = suite(`pending answers on ${transport}`);
  let at: Held;

  Server.before(async () => {
    at = await serve(transport);
  });
  Server.after(async () => at[Symbol.asyncDispose]());
  Server.before.each(() => {
    for (const list of Object.values(at.seen)) list.length = 0;
  });
  Server.after.each(() => at.release());

  for (const [what, bytes, answer] of BEHIND) {
    Server(`come before the answer to ${what}, after which the connection ends`, async () => {
      const socket = at.open();
      socket.write(get('/held/1') + get('/2') + bytes + get('/after'));
      const received = text(socket);
      await eventually(() => at.seen.arrived.includes('/2'), 'the requests arrive');
      socket.write(get('/later'));
      at.release();
      const [first, second, third, ...more] = (await received).split(/(?=HTTP\/1\.1 )/);
      assert.match(first ?? '', /^HTTP\/1\.1 200 [^]*\r\n\/held\/1$/);
      assert.match(second ?? '', /^HTTP\/1\.1 200 [^]*\r\n\/2$/);
      assert.match(third ?? '', answer);
      assert.equal(more, []);
      assert.equal([at.seen.upgraded, at.seen.arrived.filter((path) => path === '/later')], [[], []]);
    });

    Server(`are given up with their connection, behind which ${what} waits`, async () => {
      const socket = at.open();
      socket.write(get('/held/1') + get('/held/2') + bytes);
      await eventually(() => at.seen.arrived.includes('/held/2'), 'the requests arrive');
      socket.destroy();
      await eventually(() => ['/held/1', '/held/2'].every((path) => at.seen.left.includes(path)), 'both are given up');
    });
  }

  Server('leave no listeners on a connection that has many requests', async () => {
    const socket = at.open();
    socket.write(get('/held/1'));
    await eventually(() => at.seen.arrived.length > 0, 'the request arrives');
    const count = (): number => {
      const served = at.socket()!;
      return served.eventNames().reduce((sum, name) => sum + served.listenerCount(name), 0);
    };
    const before = count();
    socket.write(Array.from({ length: 500 }, (_, n) => get(`/held/${n}`)).join(''));
    await eventually(() => at.seen.arrived.length === 501, 'the requests arrive');
    assert.ok(count() <= before, `${count()} listeners after ${before}`);
    socket.destroy();
    await eventually(() => at.seen.left.length === 501, 'all are given up');
  });

  Server('do not exist on an idle connection, which opens a WebSocket after earlier requests', async () => {
    const socket = at.open();
    socket.write(get('/1'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write(get('/ws', ...upgrade('websocket')));
    assert.match(await text(socket), /\r\nupgraded \/ws$/);
  });

  Server.run();
}
