/**
 * `crypto.subtle` and `CryptoKey`, for components whose code names them. The host computes, and the bytes of keys are
 * here.
 */
import { perform } from 'aana:host/crypto@0.1.0';
import { fromBase64, toBase64 } from '../base64.ts';
import { preparedPromise } from '../event-loop.ts';
import { errorRecordIn } from '../../host-error.ts';
import { mustRun } from '../running.ts';
import { CLONE, type Cloneable } from './clone.ts';

declare const DOMException: new (message: string, name: string) => Error;

/** A key as the host takes and returns it. */
interface KeyRecord {
  readonly type: 'secret' | 'public' | 'private';
  extractable: boolean;
  readonly algorithm: Record<string, unknown>;
  readonly usages: readonly string[];
  /** Base64. */
  readonly data: string;
}
type Bytes = ArrayBuffer | ArrayBufferView;
type Arguments = Record<string, unknown>;

/** Only this module makes keys. */
const MADE = Symbol('made');

export class CryptoKey implements Cloneable {
  readonly #record: KeyRecord;
  readonly #algorithm: object;

  /** @internal */
  constructor(made?: symbol, record?: KeyRecord) {
    if (made !== MADE) throw new TypeError('Illegal constructor');
    this.#record = record!;
    this.#algorithm = withBytes(record!.algorithm);
  }

  get type(): KeyRecord['type'] {
    return this.#record.type;
  }

  get extractable(): boolean {
    return this.#record.extractable;
  }

  get algorithm(): object {
    return this.#algorithm;
  }

  get usages(): string[] {
    return [...this.#record.usages];
  }

  get [Symbol.toStringTag](): string {
    return 'CryptoKey';
  }

  [CLONE](): CryptoKey {
    return keyOf(this.#record);
  }

  /** @internal Throws a `TypeError` for what is no key. */
  static recordOf(key: unknown): KeyRecord {
    if (key instanceof CryptoKey) return key.#record;
    throw new TypeError('the argument is no CryptoKey');
  }
}

const keyOf = (record: KeyRecord): CryptoKey => new CryptoKey(MADE, record);
const keyIn = (json: string): CryptoKey => keyOf(JSON.parse(json) as KeyRecord);

function keysIn(json: string): CryptoKey | { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey } {
  const made = JSON.parse(json) as KeyRecord | { readonly publicKey: KeyRecord; readonly privateKey: KeyRecord };
  return 'publicKey' in made ? { publicKey: keyOf(made.publicKey), privateKey: keyOf(made.privateKey) } : keyOf(made);
}

/** Returns an algorithm of a key with the bytes that it has. */
function withBytes(algorithm: Arguments): Arguments {
  const { publicExponent } = algorithm as { publicExponent?: { $bytes: string } };
  return publicExponent ? { ...algorithm, publicExponent: fromBase64(publicExponent.$bytes) } : algorithm;
}

function base64Of(bytes: unknown): string {
  if (ArrayBuffer.isView(bytes)) return toBase64(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (bytes instanceof ArrayBuffer) return toBase64(new Uint8Array(bytes));
  throw new TypeError('the argument is neither an ArrayBuffer nor a view of one');
}

const bufferOf = (base64: string): ArrayBuffer => fromBase64(base64).buffer as ArrayBuffer;
const bytesIn = (bytes: Bytes): object => ({ $bytes: base64Of(bytes) });

/** Returns an algorithm, or a part of one, as the host takes it. */
function plain(value: unknown): unknown {
  if (value instanceof CryptoKey) return { $key: CryptoKey.recordOf(value) };
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return bytesIn(value);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`${value} is no number of an algorithm`);
  if (typeof value !== 'object' || value === null) return value;
  const members: Arguments = {};
  for (const name in value) members[name] = plain((value as Arguments)[name]); // also those of a prototype
  return members;
}

/** Calls the host. `of` reads the arguments, of which there must be `count`, before the first wait. */
function call<T>(
  method: string,
  given: ArrayLike<unknown>,
  count: number,
  of: () => Arguments & { data?: Bytes },
  then: (answer: string) => T,
): Promise<T> {
  const prepare = (): [args: string, data: string] => {
    if (given.length < count)
      throw new TypeError(`crypto.subtle.${method} has ${count} arguments, and ${given.length} were given`);
    mustRun(`crypto.subtle.${method}`);
    const { data = new Uint8Array(), ...args } = of();
    return [JSON.stringify(args), base64Of(data)];
  };
  return preparedPromise(prepare, ([args, data]) => performed(method, args, data), then);
}

function performed(method: string, args: string, data: string): string {
  try {
    return perform(method, args, data);
  } catch (thrown) {
    const record = errorRecordIn(thrown);
    if (record?.name !== 'CryptoFailed') throw thrown;
    const { name } = JSON.parse(record.data) as { readonly name: string };
    throw name === 'TypeError' ? new TypeError(record.message) : new DOMException(record.message, name);
  }
}

/** A JWK is an object, and a key in another format bytes. */
function keyData(format: unknown, data: unknown): Arguments & { data?: Bytes } {
  if (format !== 'jwk') return { data: data as Bytes };
  if (typeof data !== 'object' || data === null || data instanceof ArrayBuffer || ArrayBuffer.isView(data))
    throw new TypeError('a JWK is an object');
  return { keyData: data };
}

const record = CryptoKey.recordOf;

export const subtle = {
  digest(algorithm: unknown, data: Bytes) {
    return call('digest', arguments, 2, () => ({ algorithm: plain(algorithm), data }), bufferOf);
  },
  sign(algorithm: unknown, key: CryptoKey, data: Bytes) {
    return call('sign', arguments, 3, () => ({ algorithm: plain(algorithm), key: record(key), data }), bufferOf);
  },
  verify(algorithm: unknown, key: CryptoKey, signature: Bytes, data: Bytes) {
    const of = () => ({ algorithm: plain(algorithm), key: record(key), signature: bytesIn(signature), data });
    return call('verify', arguments, 4, of, (answer) => answer === 'true');
  },
  encrypt(algorithm: unknown, key: CryptoKey, data: Bytes) {
    return call('encrypt', arguments, 3, () => ({ algorithm: plain(algorithm), key: record(key), data }), bufferOf);
  },
  decrypt(algorithm: unknown, key: CryptoKey, data: Bytes) {
    return call('decrypt', arguments, 3, () => ({ algorithm: plain(algorithm), key: record(key), data }), bufferOf);
  },
  deriveBits(algorithm: unknown, key: CryptoKey, length: number | null = null) {
    const of = () => ({ algorithm: plain(algorithm), key: record(key), length: plain(length) });
    return call('deriveBits', arguments, 2, of, bufferOf);
  },
  deriveKey(algorithm: unknown, key: CryptoKey, derivedKeyType: unknown, extractable: unknown, keyUsages: string[]) {
    const of = () => ({
      ...{ algorithm: plain(algorithm), key: record(key), derivedKeyType: plain(derivedKeyType) },
      ...{ extractable: Boolean(extractable), keyUsages },
    });
    return call('deriveKey', arguments, 5, of, keyIn);
  },
  generateKey(algorithm: unknown, extractable: unknown, keyUsages: string[]) {
    const of = () => ({ algorithm: plain(algorithm), extractable: Boolean(extractable), keyUsages });
    return call('generateKey', arguments, 3, of, keysIn);
  },
  importKey(format: string, data: unknown, algorithm: unknown, extractable: unknown, keyUsages: string[]) {
    const of = () => ({
      ...{ format, algorithm: plain(algorithm), extractable: Boolean(extractable), keyUsages },
      ...keyData(format, data),
    });
    return call('importKey', arguments, 5, of, keyIn);
  },
  exportKey(format: string, key: CryptoKey) {
    const then = (answer: string): unknown => (format === 'jwk' ? JSON.parse(answer) : bufferOf(answer));
    return call('exportKey', arguments, 2, () => ({ format, key: record(key) }), then);
  },
  wrapKey(format: string, key: CryptoKey, wrappingKey: CryptoKey, wrapAlgorithm: unknown) {
    const keys = () => ({ key: record(key), wrappingKey: record(wrappingKey) });
    const of = () => ({ format, ...keys(), wrapAlgorithm: plain(wrapAlgorithm) });
    return call('wrapKey', arguments, 4, of, bufferOf);
  },
  unwrapKey(
    ...given: [
      ...[format: string, data: Bytes, unwrappingKey: CryptoKey, unwrapAlgorithm: unknown],
      ...[algorithm: unknown, extractable: unknown, keyUsages: string[]],
    ]
  ) {
    const [format, data, unwrappingKey, unwrapAlgorithm, algorithm, extractable, keyUsages] = given;
    const of = () => ({
      ...{ format, unwrappingKey: record(unwrappingKey), unwrapAlgorithm: plain(unwrapAlgorithm) },
      ...{ algorithm: plain(algorithm), extractable: Boolean(extractable), keyUsages, data },
    });
    return call('unwrapKey', given, 7, of, keyIn);
  },
};
