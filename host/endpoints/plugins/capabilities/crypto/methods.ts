import type { webcrypto } from 'node:crypto';
import {
  type Algorithm,
  algorithmOf,
  derivationCost,
  derivedBits,
  generationCost,
  isDerivation,
} from './algorithms.ts';
import { fromBase64, toBase64 } from './bytes.ts';
import { hasUsage, isObject, type Keys } from './keys.ts';
import { cryptoLimits, refuse } from './limits.ts';
import { subtle } from './node-subtle.ts';

/** The arguments of a method, as a guest gives them in JSON. */
export type Arguments = Readonly<Record<string, unknown>>;

interface Method {
  /** Returns milliseconds of computing for these arguments. Throws before anything that would take too long. */
  cost(args: Arguments, bytes: number): number;
  perform(args: Arguments, data: Buffer, keys: Keys): Promise<string>;
}

const keyFormats = ['raw', 'pkcs8', 'spki', 'jwk'];
const allUsages = ['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey'];
const isAmong = (all: readonly unknown[], value: unknown): boolean => all.includes(value);

/** Keys cost more, which {@link Keys} adds. */
const perCall = 0.1;
const onData = (_: Arguments, bytes: number): number => perCall + bytes / 500_000;
const onKey = (): number => perCall;

/** By name, what plugins have of `SubtleCrypto`. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'digest',
    {
      cost: onData,
      perform: async (args, data) => toBase64(await subtle.digest(algorithmOf(args['algorithm']), data)),
    },
  ],
  ...(['sign', 'encrypt', 'decrypt'] as const).map((name): [string, Method] => [
    name,
    {
      cost: onData,
      perform: async ({ algorithm, key }, data, keys) =>
        toBase64(await subtle[name](await revived(algorithm, keys), await keys.of(key), data)),
    },
  ]),
  [
    'verify',
    {
      cost: onData,
      perform: async ({ algorithm, key, signature }, data, keys) =>
        String(await subtle.verify(await revived(algorithm, keys), await keys.of(key), bytesIn(signature), data)),
    },
  ],
  [
    'deriveBits',
    {
      cost: ({ algorithm, length }) => derivationCost(algorithmOf(algorithm), length),
      perform: async ({ algorithm, key, length }, _, keys) =>
        toBase64(await subtle.deriveBits(await revived(algorithm, keys), await keys.of(key), length)),
    },
  ],
  [
    'deriveKey',
    {
      cost: ({ algorithm, derivedKeyType }) =>
        derivationCost(algorithmOf(algorithm), derivedBits(algorithmOf(derivedKeyType))),
      perform: derivedKey,
    },
  ],
  [
    'generateKey',
    {
      cost: ({ algorithm }) => generationCost(plain(algorithm)),
      perform: async ({ algorithm, extractable, keyUsages }, _, keys) => {
        const made = await subtle.generateKey(await revived(algorithm, keys), true, keyUsages);
        if (!isPair(made)) return JSON.stringify(await keys.exported(made, extractable === true));
        const publicKey = await keys.exported(made.publicKey, true);
        return JSON.stringify({ publicKey, privateKey: await keys.exported(made.privateKey, extractable === true) });
      },
    },
  ],
  [
    'importKey',
    {
      cost: onKey,
      perform: async ({ format, keyData, algorithm, extractable, keyUsages }, data, keys) => {
        requireKeyLength(data);
        const given = keyData === undefined ? data : keyData;
        return JSON.stringify(
          await keys.imported(format, given, await revived(algorithm, keys), extractable === true, keyUsages),
        );
      },
    },
  ],
  [
    'exportKey',
    {
      cost: onKey,
      perform: async ({ format, key }, _, keys) => {
        const result = await subtle.exportKey(format, await keys.of(key));
        return result instanceof ArrayBuffer ? toBase64(result) : JSON.stringify(result);
      },
    },
  ],
  [
    'wrapKey',
    {
      cost: onKey,
      perform: async ({ format, key, wrappingKey, wrapAlgorithm }, _, keys) =>
        toBase64(
          await subtle.wrapKey(
            format,
            await keys.of(key),
            await keys.of(wrappingKey),
            await revived(wrapAlgorithm, keys),
          ),
        ),
    },
  ],
  ['unwrapKey', { cost: onKey, perform: unwrappedKey }],
]);

/** A key for another derivation cannot be exported by Node, so its bytes are derived. */
async function derivedKey(
  { algorithm, key, derivedKeyType, extractable, keyUsages }: Arguments,
  _: Buffer,
  keys: Keys,
): Promise<string> {
  const from = await revived(algorithm, keys);
  const type = await revived(derivedKeyType, keys);
  const isExtractable = extractable === true;
  if (!isDerivation(type))
    return JSON.stringify(
      await keys.exported(await subtle.deriveKey(from, await keys.of(key), type, true, keyUsages), isExtractable),
    );
  if (!hasUsage(key, 'deriveKey')) throw refuse('InvalidAccessError', 'the key has no usage deriveKey');
  const bits = await subtle.deriveBits(from, await keys.of(key, ['deriveBits']), null);
  return JSON.stringify(await keys.imported('raw', new Uint8Array(bits), type, isExtractable, keyUsages));
}

/** Node returns only a key, whose bytes are those of any content when it is one for HMAC. */
async function unwrappedKey(
  { format, unwrappingKey, unwrapAlgorithm, algorithm, extractable, keyUsages }: Arguments,
  data: Buffer,
  keys: Keys,
): Promise<string> {
  requireKeyLength(data);
  if (!isAmong(keyFormats, format)) throw new TypeError('the format is none of a key');
  if (!Array.isArray(keyUsages) || !keyUsages.every((usage) => isAmong(allUsages, usage)))
    throw new TypeError('the usages are none of keys');
  const content = await subtle.unwrapKey(
    ...['raw', data, await keys.of(unwrappingKey), await revived(unwrapAlgorithm, keys)],
    ...[{ name: 'HMAC', hash: 'SHA-256' }, true, ['sign']],
  );
  const bytes = new Uint8Array((await subtle.exportKey('raw', content)) as ArrayBuffer);
  const keyData = format === 'jwk' ? jwkIn(bytes) : bytes;
  return JSON.stringify(
    await keys.imported(format, keyData, await revived(algorithm, keys), extractable === true, keyUsages),
  );
}

/** Returns an algorithm with its bytes and its key. */
async function revived(given: unknown, keys: Keys): Promise<Algorithm> {
  const algorithm = plain(given);
  const { public: key } = algorithm;
  if (!isObject(key)) return algorithm;
  return { ...algorithm, public: await keys.of((key as { readonly $key?: unknown }).$key) };
}

/** Returns an algorithm with its bytes. */
function plain(given: unknown): Algorithm {
  const algorithm = algorithmOf(given);
  return Object.fromEntries(
    Object.entries(algorithm).map(([name, value]) => [name, bytesIn(value)]),
  ) as unknown as Algorithm;
}

/** Returns the bytes that a value stands for. Node refuses another value where it needs bytes. */
function bytesIn(value: unknown): unknown {
  if (!isObject(value) || !('$bytes' in value)) return value;
  return new Uint8Array(fromBase64(String(value.$bytes), 'an argument', cryptoLimits.argumentChars));
}

function jwkIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw refuse('DataError', 'what was unwrapped is no JWK');
  }
}

function requireKeyLength({ length }: Buffer): void {
  if (length > cryptoLimits.keyBytes)
    throw refuse('DataError', `a key is over the limit of ${cryptoLimits.keyBytes} bytes`);
}

const isPair = (made: webcrypto.CryptoKey | webcrypto.CryptoKeyPair): made is webcrypto.CryptoKeyPair =>
  'publicKey' in made;
