// What other processes may do to the socket of a replica: a real replica, and real connections.
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { setOf, stopAll } from '../fixtures/sample-sets.ts';
import { encodeFrame, type Frame, FrameDecoder } from '../../rpc/frames.ts';
import type { ReplicaAddress } from '../../rpc/index.ts';
import type { ReplicaSet } from '../set/replica-set.ts';

const Listener = suite('the socket of a replica');

let folder = '';
let set: ReplicaSet;
let address: ReplicaAddress;

Listener.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-replica-'));
  set = setOf({ socketsDir: folder, maxOngoing: 4 });
  await set.start();
  address = set.shared.replicas[0]?.address ?? assert.unreachable('it does not listen') ?? { socket: '', token: '' };
});
Listener.after(async () => {
  await stopAll();
  assert.equal(await readdir(folder), []);
  await rm(folder, { recursive: true, force: true });
});

const HELLO = (): Buffer => encodeFrame({ type: 'hello', token: address.token });
const ECHO = encodeFrame({ type: 'call', id: 1, method: 'echo', args: { text: 'x' }, stream: false });

/** Sends bytes on a connection of its own. Returns the frames that came back until it ended, or until `last` came. */
async function answers(bytes: Buffer, last?: Frame['type']): Promise<Frame[]> {
  const socket = connect(address.socket);
  const decoder = new FrameDecoder();
  const frames: Frame[] = [];
  const ended = once(socket, 'close').catch(() => {});
  socket.on('error', () => {});
  socket.on('data', (part: Buffer) => {
    decoder.push(part);
    for (let frame = decoder.next(); frame; frame = decoder.next()) {
      frames.push(frame);
      if (frame.type === last) socket.destroy();
    }
  });
  socket.write(bytes);
  await ended;
  return frames;
}

const works = async (): Promise<void> => {
  assert.equal(await set.call('echo', { text: 'own' }), { text: 'own' });
  const frames = await answers(Buffer.concat([HELLO(), ECHO]), 'result');
  assert.equal(
    frames.filter(({ type }) => type === 'result'),
    [{ type: 'result', id: 1, value: { text: 'x' } }],
  );
};

Listener('is for this user only, and answers those who have the token', async () => {
  assert.is((await stat(address.socket)).mode & 0o777, 0o600);
  assert.match(address.token, /^[0-9a-f]{64}$/);
  await works();
});

const frame = (type: number, json: string, length = 1 + json.length): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length);
  head.writeUInt8(type, 4);
  return Buffer.concat([head, Buffer.from(json)]);
};
const CALL = encodeFrame({ type: 'call', id: 1, method: 'crash', args: {}, stream: false });

for (const [what, bytes] of [
  ['a wrong token', () => encodeFrame({ type: 'hello', token: '0'.repeat(64) })],
  ['an empty token', () => encodeFrame({ type: 'hello', token: '' })],
  ['the token with more after it', () => encodeFrame({ type: 'hello', token: `${address.token}0` })],
  ['a wrong token and a call', () => Buffer.concat([encodeFrame({ type: 'hello', token: 'x' }), CALL])],
  ['a call before the token', () => Buffer.concat([CALL, HELLO()])],
  ['a long frame before the token', () => frame(11, JSON.stringify({ token: 'x'.repeat(5000) }))],
  ['a length of 2 GB', () => frame(11, '', 2 ** 31)],
  ['HTTP', () => Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
  ['zeros', () => Buffer.alloc(1000)],
] as const) {
  Listener(`closes a connection with ${what}, and answers nothing`, async () => {
    assert.equal(await answers(bytes()), []);
    await works();
  });
}

for (const [what, bytes] of [
  ['control frames', () => encodeFrame({ type: 'shutdown' })],
  ['a second token', () => HELLO()],
  ['a number that is in use', () => Buffer.concat([waiting(7), waiting(7)])],
  ['a frame of an unknown type', () => frame(99, '{}')],
] as const) {
  Listener(`closes a connection that has the token, and sends ${what}`, async () => {
    assert.equal(
      (await answers(Buffer.concat([HELLO(), bytes()]))).filter(({ type }) => type !== 'load' && type !== 'begun'),
      [],
    );
    await works();
  });
}

function waiting(id: number): Buffer {
  return encodeFrame({ type: 'call', id, method: 'untilCancelled', args: {}, stream: false });
}

Listener('closes a connection that says nothing or only half of its token, and others work meanwhile', async () => {
  const silent = [Buffer.alloc(0), HELLO().subarray(0, 20)].map((bytes) => answers(bytes));
  await works();
  assert.equal(await Promise.all(silent), [[], []]);
});

Listener('takes a thousand connections at once', async () => {
  const sockets: Socket[] = [];
  for (let count = 0; count < 1000; count += 1) {
    const socket = connect(address.socket);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(HELLO());
    await once(socket, 'data');
  }
  await works();
  await Promise.all(
    sockets.map(async (socket) => {
      socket.destroy();
      await once(socket, 'close');
    }),
  );
  await works();
});

Listener.run();
