// What a hostile guest passes to `crypto.perform`.
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../../base/core/errors.ts';
import type { CapabilityScope } from '../scope/scope.ts';
import { cryptoCalls } from './crypto.ts';

const perform = cryptoCalls['crypto.perform'];
const hmac = {
  type: 'secret',
  extractable: true,
  algorithm: { name: 'HMAC', hash: 'SHA-1' },
  usages: ['sign'],
  data: 'AAAA',
};
const pbkdf2 = { ...hmac, extractable: false, algorithm: { name: 'PBKDF2' }, usages: ['deriveBits'] };
const pbkdf2With = (iterations: unknown, length: unknown = 128): string =>
  JSON.stringify({
    algorithm: { name: 'PBKDF2', hash: 'SHA-1', salt: { $bytes: '' }, iterations },
    ...{ key: pbkdf2, length },
  });
const rsaWith = (modulusLength: unknown, publicExponent = 'AQAB'): string =>
  JSON.stringify({
    algorithm: { name: 'RSA-PSS', hash: 'SHA-1', modulusLength, publicExponent: { $bytes: publicExponent } },
    ...{ extractable: true, keyUsages: ['sign', 'verify'] },
  });

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
const rsaJwk = privateKey.export({ format: 'jwk' });
const importOf = (keyData: unknown): string =>
  JSON.stringify({
    ...{ format: keyData === undefined ? 'pkcs8' : 'jwk', keyData, extractable: true, keyUsages: ['sign'] },
    algorithm: { name: 'RSA-PSS', hash: 'SHA-256' },
  });
const oddBytes = (count: number): Buffer => Buffer.alloc(count, 0x7f);
const odd = (count: number): string => oddBytes(count).toString('base64url');
const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(tag, 0x82, content.length >> 8, content.length & 255), content]);
};
/** A key with a third prime, of 8000 bits. */
function withThirdPrime(): string {
  const parts = privateKey.export({ format: 'der', type: 'pkcs1' }).subarray(4 + 3);
  const number = der(0x02, oddBytes(1000));
  const key = der(0x30, Buffer.of(2, 1, 1), parts, der(0x30, der(0x30, number, number, number)));
  const rsa = Buffer.from('300d06092a864886f70d0101010500', 'hex');
  return der(0x30, Buffer.of(2, 1, 0), rsa, der(0x04, key)).toString('base64');
}

function scopeOf(charged: number[] = [], signal = new AbortController().signal, plugin = 'hostile'): CapabilityScope {
  return { plugin, signal, charge: (ms: number) => charged.push(ms) } as unknown as CapabilityScope;
}

/** Returns the name of the standard's error, or `none`. */
async function errorOf(method: string, args: string, data = '', charged: number[] = []): Promise<unknown> {
  try {
    await perform(scopeOf(charged), method, args, data);
    return 'none';
  } catch (error) {
    const { name, data: facts } = error as AanaError;
    return name === 'CryptoFailed' ? (facts as { name: string }).name : error;
  }
}

const threads: Worker[] = [];
process.on('worker', (worker) => void threads.push(worker));

const isNode20 = process.versions.node.startsWith('20.');

const hostile: Readonly<Record<string, readonly [method: string, args: string, data: string, error: string]>> = {
  'no JSON': ['digest', '{', '', 'TypeError'],
  null: ['digest', 'null', '', 'TypeError'],
  'no arguments': ['digest', '{}', '', 'TypeError'],
  'a name of all objects as the method': ['constructor', '{}', '', 'NotSupportedError'],
  'a name of all objects as the algorithm': ['digest', '{"algorithm":"__proto__"}', '', 'NotSupportedError'],
  'a name of all objects as the kind of a key': [
    ...['sign', JSON.stringify({ algorithm: 'HMAC', key: { ...hmac, type: 'constructor' } }), ''],
    'TypeError',
  ] as [string, string, string, string],
  'data that are no base64': ['digest', '{"algorithm":"SHA-1"}', 'A~~=', 'TypeError'],
  'data without padding': ['digest', '{"algorithm":"SHA-1"}', 'AA', 'TypeError'],
  'too many data': ['digest', '{"algorithm":"SHA-1"}', 'AAAA'.repeat(2_796_203), 'OperationError'],
  'long arguments': ['digest', `{"algorithm":"SHA-1","a":"${'a'.repeat(65_536)}"}`, '', 'OperationError'],
  'deep arguments': ['digest', `{"algorithm":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, '', 'TypeError'],
  'a digest of digests': [
    ...['sign', `{"algorithm":{"name":"HMAC","hash":${'{"hash":'.repeat(5_000)}1${'}'.repeat(5_000)}}}`, ''],
    'TypeError',
  ] as [string, string, string, string],
  'iterations as a text': ['deriveBits', pbkdf2With('100000000'), '', 'OperationError'],
  'iterations in a list': ['deriveBits', pbkdf2With([1e9]), '', 'OperationError'],
  'endless iterations': ['deriveBits', pbkdf2With('Infinity'), '', 'OperationError'],
  'iterations below 0': ['deriveBits', pbkdf2With(-1e9), '', 'TypeError'],
  'iterations that are no number': ['deriveBits', pbkdf2With('many'), '', 'TypeError'],
  'a long result': ['deriveBits', pbkdf2With(1, '1e9'), '', 'OperationError'],
  'a result of many digests': ['deriveBits', pbkdf2With(100_000, 8 * 21 * 20), '', 'OperationError'],
  'a length below 0': ['deriveBits', pbkdf2With(1, -8), '', isNode20 ? 'OperationError' : 'TypeError'],
  'a modulus as a text': ['generateKey', rsaWith('65536'), '', 'OperationError'],
  'a modulus below 0': ['generateKey', rsaWith(-65_536), '', 'TypeError'],
  'no modulus': ['generateKey', rsaWith(undefined), '', 'TypeError'],
  'an even exponent': ['generateKey', rsaWith(2048, 'AAI='), '', 'OperationError'],
  'a key as it should be': ['importKey', importOf(rsaJwk), '', 'none'],
  'a key with long primes': ['importKey', importOf({ ...rsaJwk, p: odd(2000), q: odd(2000) }), '', 'DataError'],
  'a key with a long private exponent': ['importKey', importOf({ ...rsaJwk, d: odd(2000) }), '', 'DataError'],
  'a key with a long part': ['importKey', importOf({ ...rsaJwk, dq: odd(2000) }), '', 'DataError'],
  'a key with a long public exponent': ['importKey', importOf({ ...rsaJwk, e: odd(33) }), '', 'DataError'],
  'a key with a third prime': ['importKey', importOf(undefined), withThirdPrime(), 'DataError'],
  'a long exponent': ['generateKey', rsaWith(2048, 'A'.repeat(400)), '', 'OperationError'],
};

const Crypto = suite('crypto.perform with hostile arguments');

for (const [what, [method, args, data, error]] of Object.entries(hostile))
  Crypto(`${what}: ${error}, and nothing is taken from the computing time`, async () => {
    const charged: number[] = [];
    assert.is(await errorOf(method, args, data, charged), error);
    assert.ok(
      charged.every((ms) => ms >= 0 && ms < 60_000),
      charged.join(),
    );
  });

Crypto('a plugin has two calls at work, and a cancelled one that waits never begins', async () => {
  const abort = new AbortController();
  const ended: string[] = [];
  const noting = async (name: string, work: Promise<unknown>): Promise<void> => {
    await work.then(
      () => ended.push(name),
      (reason: Error) => ended.push(`${name}: ${reason.message}`),
    );
  };
  const slow = pbkdf2With(100_000);
  const [first, second] = [1, 2].map((n) => noting(`${n}`, perform(scopeOf(), 'deriveBits', slow, '')));
  const waiting = noting('waits', perform(scopeOf(), 'digest', '{"algorithm":"SHA-1"}', ''));
  const cancelled = noting('cancelled', perform(scopeOf([], abort.signal), 'digest', '{"algorithm":"SHA-1"}', ''));
  await setImmediate();
  assert.equal(ended, []);
  abort.abort(new Error('left'));
  await cancelled;
  assert.equal(ended, ['cancelled: left']);
  await Promise.all([first, second, waiting]);
  assert.is(ended.filter((name) => !name.includes('cancelled')).length, 3);
  assert.ok(ended[1] !== 'waits');
});

Crypto('the host reads files while several plugins compute', async () => {
  const ended: string[] = [];
  const slow = ['a', 'a', 'b', 'b'].map(async (plugin) => {
    await perform(scopeOf([], undefined, plugin), 'deriveBits', pbkdf2With(1_000_000), '');
    ended.push(plugin);
  });
  await setImmediate();
  await readFile(import.meta.filename);
  assert.equal(ended, []);
  await Promise.all(slow);
  assert.equal(ended.toSorted(), ['a', 'a', 'b', 'b']);
});

const ecdsa = (): string => {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
  const data = key.export({ format: 'der', type: 'pkcs8' }).toString('base64');
  const algorithm = { name: 'ECDSA', namedCurve: 'P-521' };
  const record = { type: 'private', extractable: false, algorithm, usages: ['sign'], data };
  return JSON.stringify({ algorithm: { name: 'ECDSA', hash: 'SHA-512' }, key: record });
};

Crypto('the thread that serves requests reads no key but the bytes of secrets', async () => {
  const { subtle } = webcrypto;
  const formats: unknown[] = [];
  const { importKey } = subtle;
  Object.defineProperty(subtle, 'importKey', {
    configurable: true,
    value: (format: unknown, ...args: never[]) => {
      formats.push(format);
      return (importKey as (...all: unknown[]) => unknown).call(subtle, format, ...args);
    },
  });
  try {
    const charged: number[] = [];
    assert.is(String(await perform(scopeOf(charged), 'sign', ecdsa(), 'AAAA')).length, 176);
    assert.ok(charged.some((ms) => ms > 0));
    await perform(scopeOf(), 'importKey', importOf(rsaJwk), '');
    await perform(scopeOf(), 'sign', JSON.stringify({ algorithm: 'HMAC', key: hmac }), 'AAAA');
  } finally {
    Reflect.deleteProperty(subtle, 'importKey');
  }
  assert.equal(formats, ['raw']);
});

Crypto('when the thread that reads keys ends, its call fails, and the next one has another thread', async () => {
  const sign = ecdsa();
  assert.is(await errorOf('sign', sign, 'AAAA'), 'none');
  const [thread] = threads.slice(-1);
  const { postMessage } = thread!;
  thread!.postMessage = (...args) => {
    void thread!.terminate();
    postMessage.apply(thread, args as [unknown]);
  };
  assert.is(await errorOf('sign', sign, 'AAAA'), 'OperationError');
  assert.is(await errorOf('sign', sign, 'AAAA'), 'none');
  assert.ok(threads.at(-1) !== thread);
});

Crypto.run();
