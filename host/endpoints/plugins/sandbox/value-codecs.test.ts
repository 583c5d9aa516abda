import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Base64Bytes, type CborValue, CborWriter, MalformedError, readCbor } from './cbor.ts';
import { offeredTypes } from './component-types.ts';
import { frameKind, frameOf, FrameReader } from './frames.ts';
import { giveMemoryBack } from './large-memory.ts';
import { functionCodecs } from './value-codecs.ts';

const Values = suite('values of the types of components');

const good: readonly (readonly [string, readonly CborValue[]])[] = [
  ['bool', [true, false]],
  ['u8', [0, 255]],
  ['s64', [-1, -(2n ** 63n), 2n ** 63n - 1n]],
  ['u64', [0, 2 ** 40, 2n ** 64n - 1n]],
  ['f64', [0.5, 1, Number.NaN, -0]],
  ['char', ['a', '😀']],
  ['string', ['', 'häuser']],
  ['list<u8>', [Buffer.from([1, 2])]],
  ['list<string>', [[], ['a']]],
  ['option<u32>', [null, 7]],
  ['tuple<u8, string>', [[1, 'a']]],
  ['result<string, u32>', [{ ok: 'a' }, { err: 1 }]],
  ['result<_, enum{a, b}>', [{ ok: null }, { err: 'b' }]],
  ['record{a: u8, b-c: option<string>}', [{ a: 1, 'b-c': null }]],
  ['variant{none, some(u8)}', [{ tag: 'none' }, { tag: 'some', val: 3 }]],
  ['flags{x, y}', [[], ['x', 'y']]],
  ['borrow<aana:host/media.audio>', [3]],
];

Values('each type takes its values, also after they were written and read', () => {
  for (const [type, values] of good) {
    const { params, result } = functionCodecs(`func(a: ${type}) -> ${type}`);
    assert.is(params.length, 1);
    for (const value of values) {
      const writer = new CborWriter();
      writer.write(value);
      const decoded = result.decode(readCbor(writer.bytes));
      const again = new CborWriter();
      again.write(params[0]!.encode(decoded));
      assert.equal(again.bytes, writer.bytes, `${type} ${String(value)}`);
    }
  }
});

Values('bytes cross as their base64, of any length and out of a larger memory', () => {
  const { result } = functionCodecs('func() -> result<option<string>, u32>');
  const memory = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 31) ^ (at >> 7)));
  const step = 24 * 1024;
  const around = [step, 2 * step, 4 * step].flatMap((bytes) => [bytes - 1, bytes, bytes + 1]);
  for (const length of [0, 1, 2, 3, 4, 100, 101, ...around]) {
    const bytes = new Uint8Array(memory.buffer, memory.byteOffset + 5, length);
    const writer = new CborWriter();
    writer.write(result.encode({ ok: new Base64Bytes(bytes) }));
    assert.equal(result.decode(readCbor(writer.bytes)), { ok: Buffer.from(bytes).toString('base64') }, `${length}`);
  }
});

Values('the memory of a large message that was given back holds the next one', () => {
  const memories = new Set<ArrayBufferLike>();
  for (const length of [300_000, 1_000, 299_999, 70_000, 300_000]) {
    const bytes = Buffer.alloc(length, length % 251);
    const frame = frameOf(1, frameKind.answer, [1], { ok: bytes });
    if (length > 1_000) memories.add(frame.buffer);
    const [read] = new FrameReader().take(Buffer.from(frame));
    assert.equal(readCbor(read!.payload.subarray(4)), { ok: bytes });
    giveMemoryBack(frame);
  }
  assert.is(memories.size, 1);
  const kept = frameOf(1, frameKind.answer, [1], Buffer.alloc(200_000));
  const other = frameOf(1, frameKind.answer, [1], Buffer.alloc(200_000));
  assert.is.not(kept.buffer, other.buffer, 'memory that was not given back');
});

Values('the host has names in camel case, and undefined for what is absent', () => {
  const type = 'result<record{media-id: option<string>, has-audio: bool, of: own<aana:host/media.audio>}, u64>';
  const { result } = functionCodecs(`func() -> ${type}`);
  const host = { ok: { mediaId: undefined, hasAudio: true, of: 3 } };
  const sandbox = { ok: { 'media-id': null, 'has-audio': true, of: 3 } };
  assert.equal(result.decode(sandbox), host);
  assert.equal(result.encode(host), sandbox);
  assert.equal(result.encode({ ok: { hasAudio: true, of: { handle: 3, duration: 1 } } }), sandbox);
  assert.equal(result.decode({ err: 7 }), { err: 7n });
});

Values('each type refuses values that no other form of it has', () => {
  const bad: readonly (readonly [string, readonly CborValue[]])[] = [
    ['bool', [0, null, 'true']],
    ['u8', [-1, 256, 1.5, 1n << 70n, '1', null]],
    ['s64', [2n ** 63n, 0.5]],
    ['u64', [-1, 2n ** 64n]],
    ['f64', ['1', null, 2n ** 60n]],
    ['char', ['', 'ab', 1]],
    ['string', [1, null, Buffer.from('a')]],
    ['list<u8>', [[1, 2], 'ab', null]],
    ['list<string>', [['a', 1], {}, null]],
    ['option<u32>', ['a', -1]],
    ['tuple<u8, string>', [[1], [1, 'a', 2], ['a', 1]]],
    ['result<string, u32>', [{ ok: 1 }, { err: 'a' }, { ok: 'a', err: 1 }, {}, 'a', null]],
    ['result<_, enum{a, b}>', [{ ok: 1 }, { err: 'c' }, { err: null }]],
    ['record{a: u8, b-c: option<string>}', [{ a: 1 }, { a: 1, 'b-c': null, d: 1 }, { a: 'x', 'b-c': null }, []]],
    ['variant{none, some(u8)}', [{ tag: 'none', val: 1 }, { tag: 'some' }, { tag: 'other' }, 'none']],
    ['flags{x, y}', [['z'], ['x', 'x'], 'x']],
    ['borrow<aana:host/media.audio>', ['a', -1, null]],
  ];
  for (const [type, values] of bad)
    for (const value of values)
      assert.throws(
        () => functionCodecs(`func() -> ${type}`).result.decode(value),
        (error: unknown) => error instanceof MalformedError,
        `${type} ${JSON.stringify(String(value))}`,
      );
});

Values('the types of all functions that the host offers can be read', async () => {
  const offered: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
    ...offeredTypes(),
  };
  const texts = Object.values(offered)
    .flatMap((interfaces) => Object.values(interfaces))
    .flatMap((members) => Object.values(members))
    .filter((text) => text.startsWith('func('));
  assert.ok(texts.length > 150, `only ${texts.length}`);
  for (const text of texts) functionCodecs(text);
});

Values('what CBOR has beside these forms is refused', () => {
  for (const hex of [
    '',
    '18',
    '1817',
    '190017',
    '9f',
    '7f',
    'bf',
    'c0',
    'f7',
    'f8ff',
    'f90000',
    '0101',
    '62c080',
    'a1',
    'a10101',
    'a2616101616102',
    '9bffffffffffffffff',
    '81'.repeat(70) + '01',
  ])
    assert.throws(() => readCbor(Buffer.from(hex, 'hex')), undefined, hex);
  const names = Buffer.from('a1695f5f70726f746f5f5f01', 'hex');
  assert.throws(() => readCbor(names), /no valid name/);
});

Values.run();
