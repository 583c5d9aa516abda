import type { Storage } from '../../../../wit/generated/world/storage.ts';
import { fromBase64, toBase64 } from '../guest/base64.ts';
import { compareUtf8, decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';
import { HostError, toErrorRecord } from '../host-error.ts';

/** Stored values of a plugin: JSON values by key. Runs that are given the same map share it. */
export type FakeStorage = Map<string, unknown>;

/** 100 years. */
const mostExpiryMs = 100 * 365 * 24 * 3600 * 1000;

/** When values of a storage expire, by key, in milliseconds since the epoch. */
const expiries = new WeakMap<FakeStorage, Map<string, number>>();

/** Answers like the host, without its limits on sizes. `now` returns milliseconds since the epoch. */
export function fakeStorage(values: FakeStorage, now: () => number): Storage {
  const expiry = expiries.get(values) ?? new Map<string, number>();
  expiries.set(values, expiry);
  const removeExpired = (): void => {
    for (const [key, at] of expiry) if (at <= now()) remove(key);
  };
  const remove = (key: string): boolean => {
    expiry.delete(key);
    return values.delete(key);
  };
  /** Returns the key as the host gets it, which is UTF-8. */
  const checked = (key: string): string => {
    const bytes = encodeUtf8(key);
    if (bytes.length < 1 || bytes.length > 120)
      throw refusal('InvalidKey', 'invalid-input', `a key has 1 to 120 bytes, not ${bytes.length}`);
    return decodeUtf8(bytes);
  };
  const checkExpiry = (ms: number | undefined): void => {
    if (ms !== undefined && !(ms >= 1 && ms <= mostExpiryMs))
      throw refusal('InvalidArguments', 'invalid-input', `a value expires after 1 to ${mostExpiryMs} ms, not ${ms}`);
  };
  const read = (key: string): Uint8Array | undefined => {
    removeExpired();
    return values.has(key) ? bytesOf(values.get(key)) : undefined;
  };
  const write = (key: string, bytes: Uint8Array, expiresInMs: number | undefined): void => {
    values.set(key, valueOf(bytes));
    if (expiresInMs === undefined) expiry.delete(key);
    else expiry.set(key, now() + expiresInMs);
  };
  const writeChecked = (name: string, bytes: Uint8Array, expiresInMs: number | undefined): void => {
    const key = checked(name);
    checkExpiry(expiresInMs);
    write(key, bytes, expiresInMs);
  };
  const compareAndSet: Storage['compareAndSet'] = (name, expected, value, expiresInMs) => {
    const key = checked(name);
    checkExpiry(expiresInMs);
    if (!isSame(read(key), expected)) return false;
    if (value) write(key, value, expiresInMs);
    else remove(key);
    return true;
  };
  const list = (prefix: string, after: string | undefined, limit: number): string[] => {
    removeExpired();
    return [...values.keys()]
      .filter((key) => key.startsWith(prefix) && (after === undefined || compareUtf8(key, after) > 0))
      .sort(compareUtf8)
      .slice(0, limit);
  };
  return {
    get: (name) => read(checked(name)),
    set: (name, bytes) => write(checked(name), bytes, undefined),
    delete: (name) => {
      const key = checked(name);
      return read(key) !== undefined && remove(key);
    },
    list,
    getText: (name) => {
      const key = checked(name);
      const bytes = read(key);
      const text = bytes && textOf(bytes);
      if (bytes && text === undefined) throw mismatch(key, 'no text in UTF-8');
      return text;
    },
    setText: (name, text, expiresInMs) => writeChecked(name, encodeUtf8(text), expiresInMs),
    setExpiring: writeChecked,
    increment: (name, by, expiresInMs) => {
      if (!Number.isFinite(by))
        throw refusal('InvalidArguments', 'invalid-input', `${by} cannot be added to a stored number`);
      const key = checked(name);
      checkExpiry(expiresInMs);
      const old = read(key) && values.get(key);
      if (old !== undefined && typeof old !== 'number') throw mismatch(key, 'no number in JSON');
      const sum = (old ?? 0) + by;
      if (!(Math.abs(sum) <= Number.MAX_SAFE_INTEGER))
        throw refusal('InvalidArguments', 'invalid-input', `the sum ${sum} is beyond ±${Number.MAX_SAFE_INTEGER}`);
      if (old === undefined) write(key, encodeUtf8(`${sum}`), expiresInMs);
      else values.set(key, sum);
      return sum;
    },
    compareAndSet,
    getBase64: (name) => {
      const bytes = read(checked(name));
      return bytes && toBase64(bytes);
    },
    setBase64: (name, base64, expiresInMs) => writeChecked(name, fromBase64(base64), expiresInMs),
    compareAndSetBase64: (name, expected, value, expiresInMs) =>
      compareAndSet(name, decoded(expected), decoded(value), expiresInMs),
    listEntries: (prefix, after, limit, withText) =>
      list(prefix, after, limit).map((key) => {
        const bytes = bytesOf(values.get(key));
        const at = expiry.get(key);
        return {
          key,
          size: bytes.length,
          expiresInMs: at === undefined ? undefined : at - now(),
          text: withText ? textOf(bytes) : undefined,
        };
      }),
  };
}

const refusal = (...args: ConstructorParameters<typeof HostError>): unknown => toErrorRecord(new HostError(...args));

const mismatch = (key: string, what: string): unknown =>
  refusal('StoredValueMismatch', 'conflict', `the stored value of the key ${JSON.stringify(key)} is ${what}`);

const bytesOf = (value: unknown): Uint8Array =>
  value instanceof Uint8Array ? value : encodeUtf8(JSON.stringify(value) ?? 'null');

/** Returns the text of bytes, or undefined if they are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  const text = decodeUtf8(bytes);
  return isSame(encodeUtf8(text), bytes) ? text : undefined;
}

const decoded = (base64: string | undefined): Uint8Array | undefined =>
  base64 === undefined ? undefined : fromBase64(base64);

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.length === b.length && a.every((byte, at) => byte === b[at]);

/** Returns the value of JSON, so that tests can look at it. */
function valueOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(bytes));
  } catch {
    return bytes;
  }
}
