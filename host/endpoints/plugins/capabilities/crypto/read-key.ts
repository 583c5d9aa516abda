import { KeyObject, type webcrypto } from 'node:crypto';
import { cryptoLimits, refuse } from './limits.ts';
import { subtle } from './node-subtle.ts';

/** The arguments of `importKey`. */
export type ImportArguments = readonly [
  ...[format: unknown, keyData: unknown, algorithm: unknown, extractable: boolean, usages: unknown],
];

export interface ReadKey {
  readonly key: webcrypto.CryptoKey;
  /** Milliseconds of computing. */
  readonly ms: number;
}

/** Imports a key. Node does that on the thread that calls it, which takes up to 10 ms for a private key on P-521. */
export async function readKey(args: ImportArguments): Promise<ReadKey> {
  const startedAt = performance.now();
  const reading = subtle.importKey(...args);
  const ms = performance.now() - startedAt;
  const key = await reading;
  const { modulusLength = 0, publicExponent } = key.algorithm as Partial<webcrypto.RsaKeyAlgorithm>;
  if (publicExponent) requireShortParts(key, modulusLength, publicExponent);
  return { key, ms };
}

/**
 * Throws `DataError` for an RSA key with long parts. OpenSSL computes with what a key names, in a thread and without a
 * check, and a signature with primes of 16,000 bits takes 20 s.
 */
function requireShortParts(key: webcrypto.CryptoKey, modulusLength: number, publicExponent: Uint8Array): void {
  if (modulusLength > cryptoLimits.modulusBits)
    throw refuse('DataError', `the modulus of an RSA key has at most ${cryptoLimits.modulusBits} bits`);
  if (8 * publicExponent.length > cryptoLimits.exponentBits)
    throw refuse('DataError', `the public exponent of an RSA key has at most ${cryptoLimits.exponentBits} bits`);
  if (key.type !== 'private') return;
  const whole = KeyObject.from(key);
  const { p = '', q = '', n = '', ...parts } = whole.export({ format: 'jwk' });
  const isLong = [p + q, ...Object.values(parts)].some((part) => String(part).length > n.length + 8);
  // The parts of further primes are only here.
  const bytes = whole.export({ format: 'der', type: 'pkcs8' }).length;
  const shown = Buffer.from([p, q, n, ...Object.values(parts)].join(''), 'base64url').length;
  if (isLong || bytes > shown + 128)
    throw refuse('DataError', 'an RSA key has two primes, which together are as long as the modulus');
}
