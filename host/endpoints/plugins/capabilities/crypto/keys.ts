import type { webcrypto } from 'node:crypto';
import { type Algorithm, importAlgorithm, isDerivation } from './algorithms.ts';
import { fromBase64 } from './bytes.ts';
import { readKeyInThread } from './key-thread.ts';
import { cryptoLimits } from './limits.ts';
import { subtle } from './node-subtle.ts';
import { type ImportArguments, readKey } from './read-key.ts';

/** A key as a guest has it. */
interface KeyRecord {
  readonly type: webcrypto.KeyType;
  readonly extractable: boolean;
  readonly algorithm: unknown;
  readonly usages: unknown;
  /** Base64 in the form of {@link forms}. */
  readonly data: string;
}

/** In which form a guest has the bytes of a key. */
const forms: ReadonlyMap<unknown, string> = new Map([
  ['secret', 'raw'],
  ['public', 'spki'],
  ['private', 'pkcs8'],
]);

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Makes keys of Node from those of a guest, and the reverse. */
export class Keys {
  readonly #charge: (ms: number) => void;

  /** @param charge adds milliseconds to the computing time of the guest. */
  constructor(charge: (ms: number) => void) {
    this.#charge = charge;
  }

  /** Returns Node's key for one that a guest has. `usages` replaces those of the key. */
  async of(given: unknown, usages?: readonly string[]): Promise<webcrypto.CryptoKey> {
    const { type, extractable, algorithm, usages: own, data } = (given ?? {}) as Partial<KeyRecord>;
    const form = forms.get(type);
    if (form === undefined || typeof data !== 'string') throw new TypeError('the key is no CryptoKey');
    const bytes = fromBase64(data, 'a key', cryptoLimits.keyBytes);
    return this.#import(form, bytes, importAlgorithm(algorithm), extractable === true, usages ?? own);
  }

  /** Imports a key, and returns it for the guest. */
  async imported(
    format: unknown,
    keyData: unknown,
    algorithm: Algorithm,
    extractable: boolean,
    usages: unknown,
  ): Promise<KeyRecord> {
    if (isDerivation(algorithm)) {
      const key = await this.#import(format, keyData, algorithm, extractable, usages);
      return recordOf(key, extractable, keyData as Uint8Array);
    }
    // Extractable, because the guest gets its bytes. What the guest asks for holds for the guest's own code.
    const given = !extractable && isObject(keyData) && format === 'jwk' ? { ...keyData, ext: true } : keyData;
    return this.exported(await this.#import(format, given, algorithm, true, usages), extractable);
  }

  /** Returns a key that can be exported for the guest. */
  async exported(key: webcrypto.CryptoKey, extractable: boolean): Promise<KeyRecord> {
    const bytes = (await subtle.exportKey(forms.get(key.type), key)) as ArrayBuffer;
    return recordOf(key, extractable, new Uint8Array(bytes));
  }

  async #import(...args: ImportArguments): Promise<webcrypto.CryptoKey> {
    // The bytes of a secret need no reading.
    const { key, ms } = await (args[0] === 'raw' ? readKey(args) : readKeyInThread(args));
    this.#charge(ms);
    const { modulusLength = 0 } = key.algorithm as Partial<webcrypto.RsaKeyAlgorithm>;
    if (key.type === 'private') this.#charge(Math.max(0.5, (modulusLength / 2048) ** 3 / 2)); // its use, in a thread
    return key;
  }
}

/** Whether a guest's key can be used for this. */
export function hasUsage(given: unknown, usage: string): boolean {
  const { usages } = (given ?? {}) as Partial<KeyRecord>;
  return Array.isArray(usages) && usages.includes(usage);
}

function recordOf(key: webcrypto.CryptoKey, extractable: boolean, bytes: Uint8Array): KeyRecord {
  const { type, usages } = key;
  const { publicExponent, ...algorithm } = key.algorithm as webcrypto.RsaHashedKeyAlgorithm;
  const exponent = publicExponent && { publicExponent: { $bytes: Buffer.from(publicExponent).toString('base64') } };
  return {
    ...{ type, extractable, usages },
    algorithm: { ...algorithm, ...exponent },
    data: Buffer.from(bytes).toString('base64'),
  };
}
