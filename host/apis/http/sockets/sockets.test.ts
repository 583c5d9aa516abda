// WebSockets of a real server: what they may do, how they end, and that nothing keeps running after them. The
// deployment runs in a real replica, and behaves badly where it should.
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import type { AanaApp, ConfigInput } from 'aana-host';
import { ParrotDeployment } from './fixtures/parrot-deployment.ts';
import { refusalOf, SocketClient } from './fixtures/socket-client.ts';

const Sockets = suite('WebSockets');
const folder = makeFolder();
const SECOND = Buffer.alloc(32_000);
const LIMITS = { max_sockets: 6, max_sockets_per_caller: 4, max_message_bytes: 64_000, max_buffered_bytes: 64_000 };

let app: AanaApp;
let url = '';

function appWith(config: ConfigInput): Promise<AanaApp> {
  const n = z.strictObject({ n: z.int() });
  return started(
    makeApp(folder, {}, config)
      .registerDeployment('parrot', ParrotDeployment.options({ max_ongoing_requests: 20 }))
      .registerEndpoint({ name: 'echo', path: '/echo', input: n, output: n, run: async (input) => input }),
  );
}

const socketUrl = (one: AanaApp): string => `${one.url!.replace('http', 'ws')}/asr/live`;

Sockets.before(async () => {
  app = await appWith({ sockets: LIMITS });
  url = socketUrl(app);
});
Sockets.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

/** Waits until no transcription runs any more. */
async function quiet(one: AanaApp = app): Promise<void> {
  const parrot = one.handle(ParrotDeployment, 'parrot');
  while ((await parrot.facts()).running > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

Sockets('carry audio in and results out, and close after the end', async () => {
  const client = await SocketClient.open(url);
  const messages = await client.transcribe(SECOND.subarray(0, 4800));
  assert.equal(
    messages.map(({ type, text }) => text ?? type),
    ['1600', '2400', 'end'],
  );
  assert.equal(await client.closed, { code: 1000, reason: '' });
  await quiet();
});

Sockets('choose their subprotocol if the client offers it, and have the id of the request', async () => {
  const client = await SocketClient.open(url, {
    protocols: ['other', 'aana-live'],
    headers: { 'x-request-id': 'live-7' },
  });
  assert.equal([client.socket.protocol, client.headers['x-request-id']], ['aana-live', 'live-7']);
  client.socket.close();
  assert.is((await client.closed).code, 1005);
  const other = await SocketClient.open(url);
  assert.is(other.socket.protocol, '');
  other.socket.terminate();
});

const REFUSED: readonly (readonly [what: string, query: string, status: number, error: string])[] = [
  ['an unknown path', '/more', 404, 'NotFound'],
  ['an unknown parameter', '?samplerate=8000', 422, 'ValidationError'],
  ['a sample rate out of range', '?sample_rate=96000', 422, 'ValidationError'],
  ['an unknown encoding', '?encoding=mp3', 422, 'ValidationError'],
  ['an unknown deployment', '?deployment=nobody', 404, 'DeploymentNotFound'],
];
for (const [what, query, status, error] of REFUSED) {
  Sockets(`are refused before the handshake for ${what}`, async () => {
    const refusal = await refusalOf(url + query);
    assert.equal([refusal.status, refusal.body.error], [status, error]);
    assert.equal(Object.keys(refusal.body).slice(0, 4), ['error', 'message', 'data', 'stacktrace']);
    assert.ok(refusal.headers['x-request-id']);
  });
}

Sockets('are refused to pages of other origins, and open to pages of the server', async () => {
  const foreign = await refusalOf(url, { origin: 'https://evil.example' });
  assert.equal([foreign.status, foreign.body.error], [403, 'OriginNotAllowed']);
  const client = await SocketClient.open(url, { origin: app.url! });
  assert.is((await client.transcribe()).at(-1).type, 'end');
});

Sockets('are refused under a foreign name', async () => {
  const { status, body } = await refusalOf(url, { headers: { host: 'evil.example' } });
  assert.equal([status, body.error], [421, 'HostNotAllowed']);
});

Sockets('are needed at their path: other requests get 426', async () => {
  const response = await fetch(url.replace('ws', 'http'));
  assert.equal([response.status, response.headers.get('upgrade')], [426, 'websocket']);
  assert.is(((await response.json()) as { error: string }).error, 'UpgradeRequired');
});

const HEAD = ['host: localhost', 'connection: upgrade', 'upgrade: websocket'];
const KEY = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==';
const MALFORMED: readonly (readonly [what: string, lines: readonly string[]])[] = [
  ['without a key', ['GET /asr/live HTTP/1.1', ...HEAD, 'sec-websocket-version: 13']],
  ['of an unknown version', ['GET /asr/live HTTP/1.1', ...HEAD, KEY, 'sec-websocket-version: 7']],
  ['by POST', ['POST /asr/live HTTP/1.1', ...HEAD, KEY, 'sec-websocket-version: 13', 'content-length: 0']],
  ['without a host', ['GET /asr/live HTTP/1.1', ...HEAD.slice(1), KEY, 'sec-websocket-version: 13']],
];
for (const [what, lines] of MALFORMED) {
  Sockets(`answer a handshake ${what} with 400, and end the connection`, async () => {
    const answer = await sent(`${lines.join('\r\n')}\r\n\r\n`);
    assert.match(answer, /^HTTP\/1.1 400 /);
    assert.match(answer, /"error":"MalformedRequest"/);
  });
}

/** Sends bytes on a connection of its own, and returns what the server has answered when it ends the connection. */
async function sent(bytes: string | Buffer): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(bytes);
  let answer = '';
  for await (const part of socket) answer += String(part);
  return answer;
}

Sockets(
  'do not take requests that offer another protocol, such as HTTP/2: they are answered with their bodies',
  async () => {
    const body = JSON.stringify({ n: 7 });
    const lines = ['POST /echo HTTP/1.1', 'host: localhost', 'connection: upgrade, close', 'upgrade: h2c'];
    lines.push('content-type: application/json', `content-length: ${body.length}`, '', body);
    const answer = await sent(lines.join('\r\n'));
    assert.match(answer, /^HTTP\/1.1 200 /);
    assert.ok(answer.endsWith('{"n":7}'), answer);
  },
);

const nan = Buffer.alloc(8);
nan.writeFloatLE(Number.NaN, 4);
const WRONG: readonly (readonly [
  what: string,
  message: string | Buffer,
  query: string,
  code: number,
  error: string,
])[] = [
  ['half a sample', Buffer.alloc(3), '', 1007, 'InvalidAudio'],
  ['a sample that is not a number', nan, '?encoding=pcm_f32le', 1007, 'InvalidAudio'],
  ['text instead of audio', 'hello', '', 1003, 'UnsupportedMessage'],
  ['an unknown text', '{"type":"start"}', '', 1003, 'UnsupportedMessage'],
  ['null as text', 'null', '', 1003, 'UnsupportedMessage'],
  ['audio to a deployment that fails', SECOND, '?language=broken', 1011, 'InferenceException'],
];
for (const [what, message, query, code, error] of WRONG) {
  Sockets(`tell the error of ${what}, and close with ${code}`, async () => {
    const client = await SocketClient.open(url + query);
    const messages = await client.transcribe(message);
    assert.equal([messages.at(-1).type, messages.at(-1).error], ['error', error]);
    assert.equal(await client.closed, { code, reason: error });
    await quiet();
  });
}

Sockets('close with 1009 for a message that is too large, and with 1002 for bytes that are no frames', async () => {
  const client = await SocketClient.open(url);
  client.socket.send(Buffer.alloc(64_002));
  assert.is((await client.closed).code, 1009);
  const other = await SocketClient.open(url);
  other.raw.write('GET / HTTP/1.1\r\n\r\n');
  assert.is((await other.closed).code, 1002);
  await quiet();
});

Sockets('end the work of a client that vanishes', async () => {
  const client = await SocketClient.open(url);
  client.socket.send(SECOND);
  await client.message(0);
  client.socket.terminate();
  await quiet();
});

Sockets('read no more from a client than the deployment takes, and notice when it vanishes then', async () => {
  await using one = await appWith({ sockets: { ...LIMITS, ping_interval_s: 0.3 } });
  const client = await SocketClient.open(`${socketUrl(one)}?language=deaf`);
  for (let count = 0; count < 1000; count += 1) client.socket.send(SECOND);
  const isStuck = async (): Promise<boolean> => {
    const before = client.socket.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before > 0 && client.socket.bufferedAmount >= before; // it grows by answers to pings
  };
  while (!(await isStuck()));
  client.socket.terminate();
  await quiet(one);
});

Sockets('do not take a client for lost whose answers to pings were not read', async () => {
  await using one = await appWith({ sockets: { ...LIMITS, ping_interval_s: 0.3 } });
  const client = await SocketClient.open(`${socketUrl(one)}?language=late`);
  const messages = await client.transcribe(...Array.from({ length: 60 }, () => SECOND));
  assert.equal(messages.at(-2).text, String(60 * 16_000));
  assert.equal(await client.closed, { code: 1000, reason: '' });
});

Sockets('compute no more for a client than it reads, and go on when it reads again', async () => {
  const parrot = app.handle(ParrotDeployment, 'parrot');
  const client = await SocketClient.open(`${url}?language=flood`);
  await client.message(0);
  client.socket.pause();
  const isStuck = async (): Promise<boolean> => {
    const before = (await parrot.facts()).parts;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return (await parrot.facts()).parts === before;
  };
  while (!(await isStuck()));
  const count = client.messages.length;
  client.socket.resume();
  await client.message(count + 500);
  client.socket.terminate();
  await quiet();
});

Sockets('are limited for each caller and for the server', async () => {
  const clients = [];
  for (let count = 0; count < 4; count += 1) clients.push(await SocketClient.open(url));
  const { status, body, headers } = await refusalOf(url);
  assert.equal([status, body.error], [429, 'TooManySockets']);
  const other = { localAddress: '127.0.0.2' } as const;
  for (let count = 0; count < 2; count += 1) clients.push(await SocketClient.open(url, other));
  const full = await refusalOf(url, other);
  assert.equal([full.status, full.body.error, full.headers['retry-after']], [503, 'SocketsFull', '1']);
  assert.is(headers['content-type'], 'application/json; charset=utf-8');
  for (const { socket, closed } of clients) {
    socket.close();
    await closed;
  }
  await quiet();
  assert.is((await (await SocketClient.open(url)).transcribe()).at(-1).type, 'end');
});

Sockets('survive the loss of their replica: the client is told to try again', async () => {
  const client = await SocketClient.open(`${url}?language=mortal`);
  const messages = await client.transcribe(SECOND);
  assert.is(messages.at(-1).type, 'error');
  assert.is((await client.closed).code, 1013);
  for (;;) {
    const next = await SocketClient.open(url);
    if ((await next.transcribe(SECOND)).at(-1).type === 'end') break;
  }
});

Sockets('close when a client is idle, has vanished without a word, or stays too long', async () => {
  const cases = [
    [{ idle_timeout_s: 0.3 }, {}, 'SocketIdle'],
    [{ ping_interval_s: 0.3 }, { autoPong: false }, 'SocketLost'],
    [{ max_duration_s: 0.3 }, {}, 'SocketExpired'],
  ] as const;
  for (const [limits, options, error] of cases) {
    await using one = await appWith({ sockets: limits });
    const client = await SocketClient.open(socketUrl(one), options);
    assert.equal(await client.closed, { code: 1008, reason: error });
    assert.equal([client.messages[0].type, client.messages[0].error], ['error', error]);
    await quiet(one);
  }
});

Sockets('finish what they have when the server shuts down, and close with 1001', async () => {
  const one = await appWith({});
  const client = await SocketClient.open(socketUrl(one));
  client.socket.send(SECOND.subarray(0, 4800));
  assert.is((await client.message(0)).text, '1600');
  const stopped = one.shutdown({ graceMs: 60_000 });
  assert.is((await client.closed).code, 1001);
  assert.equal(
    client.messages.map(({ type, text }) => text ?? type),
    ['1600', '2400', 'end'],
  );
  await stopped;
});

Sockets('are cut off when the grace period is over', async () => {
  const one = await appWith({});
  const stuck = await SocketClient.open(`${socketUrl(one)}?language=deaf`);
  await one.shutdown({ graceMs: 100 });
  assert.is((await stuck.closed).code, 1006);
});

Sockets.run();
