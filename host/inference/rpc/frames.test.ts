import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { encodeFrame, type Frame, FrameDecoder, MAX_FRAME_BYTES } from './frames.ts';

const Protocol = suite('the frames between host and replica');

const FRAMES: readonly Frame[] = [
  {
    type: 'start',
    implementation: 'file:///x.js',
    spec: { model: 'café', n: 1 },
    artifacts: { roots: ['/tmp/é'], copies: '/tmp' },
    maxOngoing: 2,
  },
  { type: 'bounds', maxOngoing: 3 },
  { type: 'hello', token: 'secret' },
  { type: 'load', others: 4 },
  { type: 'full', id: 1 },
  { type: 'begun', id: 1 },
  {
    type: 'call',
    id: 1,
    method: 'chat',
    args: { text: '🙂' },
    stream: true,
    context: { requestId: 'r', userId: 'u', priority: 3, remainingMs: 10 },
  },
  { type: 'cancel', id: 1 },
  { type: 'ack', id: 1, values: 3 },
  { type: 'feed', id: 1, values: ['AAA=', 2] },
  { type: 'fed', id: 1 },
  { type: 'taken', id: 1, values: 2 },
  { type: 'ping' },
  { type: 'shutdown' },
  { type: 'ready', info: null },
  { type: 'failed', error: { name: 'E', kind: 'internal', message: 'm', data: {} } },
  { type: 'progress', fraction: 0.5, text: 'loading' },
  { type: 'log', level: 'info', message: 'm', fields: { a: 1 } },
  { type: 'result', id: 2, value: [1, 2, { three: 3 }] },
  { type: 'bytes', id: 2 ** 40, bytes: Buffer.from([0, 255, 128, 10]) },
  { type: 'bytes', id: 3, bytes: Buffer.alloc(0) },
  {
    type: 'chunks',
    batches: [
      { id: 1, values: ['a', 'b'] },
      { id: 2, values: ['c'] },
    ],
  },
  { type: 'end', id: 1 },
  { type: 'error', id: 1, error: { name: 'E', kind: 'internal', message: 'm', data: {} } },
  { type: 'call-progress', id: 1, fraction: 0.25 },
  { type: 'pong', steps: 12, busy: true, beats: 3400, cpuMs: 71.5 },
];
const WIRE = Buffer.concat(FRAMES.map((frame) => encodeFrame(frame)));

const raw = (length: number, type: number, payload: string): Buffer => {
  const bytes = Buffer.alloc(5 + payload.length);
  bytes.writeUInt32BE(length, 0);
  bytes.writeUInt8(type, 4);
  bytes.write(payload, 5);
  return bytes;
};

Protocol('are decoded unchanged from a single buffer', () => {
  assert.equal(decoded(new FrameDecoder(), WIRE), FRAMES);
});

for (const size of [1, 2, 3, 4, 5, 6, 7, 64]) {
  Protocol(`come back as they were, in pieces of ${size} bytes`, () => {
    const decoder = new FrameDecoder();
    const frames: Frame[] = [];
    for (let at = 0; at < WIRE.length; at += size) frames.push(...decoded(decoder, WIRE.subarray(at, at + size)));
    assert.equal(frames, FRAMES);
    assert.is(decoder.pendingBytes, 0);
  });
}

Protocol('start with a big-endian length, which includes the type', () => {
  assert.equal([...encodeFrame({ type: 'ping' })], [0, 0, 0, 3, 5, 0x7b, 0x7d]);
});

Protocol('over the limit are refused', () => {
  const error = caught(() => encodeFrame({ type: 'result', id: 1, value: 'x'.repeat(100) }, 100));
  assert.is(error.name, 'MessageTooLarge');
  assert.match(error.message, 'limit of 100');
  const bytes = caught(() => encodeFrame({ type: 'bytes', id: 1, bytes: Buffer.alloc(94) }, 100));
  assert.match(bytes.message, 'a bytes frame of 101 bytes');
});

const REFUSED: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['longer than the limit', raw(MAX_FRAME_BYTES + 1, 5, '{}')],
  ['of no bytes', raw(0, 5, '{}')],
  ['of an unknown type', raw(3, 99, '{}')],
  ['of HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['that are no JSON', raw(4, 5, '{"a')],
  ['that are JSON but no object', raw(5, 5, '[12]')],
  ['that lack a field', raw(3, 3, '{}')],
  ['with a field of another type', raw(12, 3, '{"id":"one"}'.slice(0, 11))],
  ['of bytes without a number', raw(4, 32, 'abc')],
  ['with null for an object', raw(23, 23, '{"id":1,"error":null}  ')],
];
for (const [what, bytes] of REFUSED) {
  Protocol(`${what} are refused`, () => {
    assert.is(caught(() => decoded(new FrameDecoder(), bytes)).name, 'ReplicaProtocolError');
  });
}

Protocol('cannot set their type with a field of the JSON', () => {
  assert.equal(decoded(new FrameDecoder(), raw(20, 5, '{"type":"shutdown"}')), [{ type: 'ping' }]);
});

function decoded(decoder: FrameDecoder, bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  decoder.push(bytes);
  for (let frame = decoder.next(); frame; frame = decoder.next()) frames.push(frame);
  return frames;
}

function caught(run: () => unknown): AanaError {
  try {
    run();
  } catch (error) {
    if (error instanceof AanaError) return error;
    throw error;
  }
  return assert.unreachable('nothing was thrown') as never;
}

Protocol.run();
