// What other machines may do to the TLS port of a replica: a real replica, and real connections.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { ClusterFolder } from '../../../base/certificates/fixtures/cluster-files.ts';
import { type MemberFiles, Membership } from '../../../base/certificates/index.ts';
import { Random } from '../../../test/simulation/random.ts';
import { skip } from '../../../test/skip.ts';
import { recordingLogger, setOf, stopAll, until } from '../fixtures/sample-sets.ts';
import { encodeFrame, type Frame, FrameDecoder, type TcpAddress } from '../../rpc/frames.ts';
import type { ReplicaSet } from '../set/replica-set.ts';

const Listener = suite('the TLS port of a replica');

const { log, lines } = recordingLogger();
let folder = '';
let cluster: ClusterFolder;
let member: MemberFiles;
let good: Membership;
let set: ReplicaSet;
let token = '';
let tcp: TcpAddress;

Listener.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-replica-'));
  cluster = await ClusterFolder.make();
  member = await cluster.member('machine');
  good = await Membership.open(member, log);
  set = setOf({ socketsDir: folder, maxOngoing: 4, remote: { host: '127.0.0.1', member }, log });
  await set.start();
  const { address } = set.shared.replicas[0] ?? assert.unreachable() ?? ({} as never);
  token = address.token;
  tcp = address.tcp ?? assert.unreachable('it has no port') ?? ({} as never);
});
Listener.after(async () => {
  await stopAll();
  cluster[Symbol.dispose]();
  await rm(folder, { recursive: true, force: true });
});

const HELLO = (): Buffer => encodeFrame({ type: 'hello', token });
const ECHO = encodeFrame({ type: 'call', id: 1, method: 'echo', args: { text: 'x' }, stream: false });

/** Sends bytes on a connection of its own. Returns the frames that came back until it ended, or until `last` came. */
async function answers(
  bytes: Buffer,
  last?: Frame['type'],
  socket: Socket = connect({ ...tcp, ...good.clientOptions }),
): Promise<Frame[]> {
  const decoder = new FrameDecoder();
  const frames: Frame[] = [];
  socket.on('error', () => {});
  socket.on('data', (part: Buffer) => {
    decoder.push(part);
    for (let frame = decoder.next(); frame; frame = decoder.next()) {
      if (frame.type !== 'beat') frames.push(frame);
      if (frame.type === last) socket.destroy();
    }
  });
  socket.write(bytes);
  if (!socket.destroyed) await once(socket, 'close').catch(() => {});
  return frames;
}

const works = async (): Promise<void> => {
  const frames = await answers(Buffer.concat([HELLO(), ECHO]), 'result');
  assert.equal(frames.at(-1), { type: 'result', id: 1, value: { text: 'x' } });
};

Listener('answers members who have the token', works);

Listener('answers nobody without a good certificate, and says why in the log', async () => {
  const bad = await Membership.open(await cluster.member('old', { from: -3, until: -1 }), log);
  const asked = Buffer.concat([HELLO(), ECHO]);
  assert.equal(await answers(asked, 'result', connect({ ...tcp, ...bad.clientOptions })), []);
  const { ca } = good.clientOptions;
  assert.equal(await answers(asked, 'result', connect({ ...tcp, ca, rejectUnauthorized: false } as object)), []);
  assert.equal(await answers(asked, 'result', connectTcp(tcp.port, tcp.host)), []);
  const reasons = () => lines.filter(({ message }) => message === 'a connection to a replica was refused');
  await until(() => reasons().length >= 3, 'all are in the log');
  const text = JSON.stringify(reasons());
  for (const reason of ['its certificate has expired', 'it showed no certificate', 'it does not speak TLS'])
    assert.match(text, reason);
  await works();
});

for (const [what, bytes] of [
  ['a wrong token', () => encodeFrame({ type: 'hello', token: '0'.repeat(64) })],
  ['a call before the token', () => Buffer.concat([ECHO, HELLO()])],
  ['a beat before the token', () => Buffer.concat([encodeFrame({ type: 'beat' }), HELLO(), ECHO])],
  ['HTTP', () => Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
] as const)
  Listener(`closes the connection of a member with ${what}`, async () => {
    assert.equal(await answers(bytes()), []);
    await works();
  });

Listener('ends connections that do not get to the token in time, and bounds their number', async () => {
  const silent = [
    connectTcp(tcp.port, tcp.host), // says nothing
    connectTcp(tcp.port, tcp.host), // begins a handshake
    connect({ ...tcp, ...good.clientOptions }), // ends it
  ];
  silent[1]?.write(Buffer.from([0x16, 3, 1, 2, 0, 1]));
  const ended = silent.map((socket) => {
    socket.on('error', () => {});
    socket.resume();
    return once(socket, 'close');
  });
  await works();
  await Promise.all(ended);
  const many = Array.from({ length: 300 }, () =>
    connectTcp(tcp.port, tcp.host)
      .on('error', () => {})
      .resume(),
  );
  let closed = 0;
  const allClosed = Promise.all(
    many.map(async (socket) => {
      await once(socket, 'close').catch(() => {});
      closed += 1;
    }),
  );
  await until(() => closed >= 300 - 256, 'those above the limit are closed');
  await allClosed; // the others after their time
  await works();
});

Listener('writes few lines about many that are refused', async () => {
  const refused = () => lines.filter(({ message }) => message === 'a connection to a replica was refused').length;
  const before = refused();
  for (let count = 0; count < 200; count += 1)
    assert.equal(await answers(Buffer.from('no handshake'), 'result', connectTcp(tcp.port, tcp.host)), []);
  await works(); // its lines come before this answer
  assert.ok(refused() - before <= 100, `${refused() - before} lines`);
});

Listener('survives random bytes after the handshake, and after the token', async () => {
  const random = new Random(7);
  const whole = Buffer.concat([HELLO(), ECHO, encodeFrame({ type: 'cancel', id: 1 }), encodeFrame({ type: 'beat' })]);
  for (let round = 0; round < 200; round += 1) {
    const bytes = Buffer.from(whole);
    const isKnown = round % 2 === 0;
    for (let flips = random.int(1, 12); flips > 0; flips -= 1)
      bytes[random.int(isKnown ? HELLO().length : 0, bytes.length - 1)] = random.int(0, 255);
    const socket = connect({ ...tcp, ...good.clientOptions })
      .on('error', () => {})
      .resume();
    await once(socket, 'secureConnect');
    socket.end(bytes.subarray(0, random.int(1, bytes.length)));
    await once(socket, 'close').catch(() => {});
  }
  await works();
  assert.is(set.status().replicas[0]?.state, 'ready');
});

if (hasOpenssl) Listener.run();
else skip('the TLS port of a replica', 'there is no openssl to make certificates with');
