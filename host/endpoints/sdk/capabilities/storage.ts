import { fromBase64, toBase64 } from '../guest/base64.ts';
import { hostPromise } from '../guest/event-loop.ts';
import type { Entry, Storage as HostStorage } from '../../../../wit/generated/world/storage.ts';
import { type Batches, pages } from './batches.ts';
import { encodeUtf8 } from '../guest/utf8.ts';

const PAGE = 1000;

export interface StoreOptions {
  /**
   * Milliseconds after which the value is missing, from 1 to 3,153,600,000,000 (100 years). Default: it stays until it
   * is deleted.
   */
  readonly expiresInMs?: number | undefined;
}

/** What is known of a stored value. */
export interface StoredFacts {
  readonly key: string;
  /** Bytes of the value. */
  readonly size: number;
  /** Milliseconds until the value expires; undefined when it does not. */
  readonly expiresInMs: number | undefined;
}

/** A stored JSON value. */
export interface StoredEntry<T> extends StoredFacts {
  readonly value: T;
}

/**
 * Values that the plugin keeps between requests. Keys have 1 to 120 bytes. Each plugin has its own keys. Each call
 * takes effect completely or not at all, also beside other runs and hosts.
 */
export class Storage {
  readonly #host: HostStorage;

  constructor(host: HostStorage) {
    this.#host = host;
  }

  /** Resolves with a value from its JSON, or with undefined when the key is missing. */
  get<T = unknown>(key: string): Promise<T | undefined> {
    return hostPromise(
      () => this.#host.getText(key) ?? undefined, // bindings return null for an absent value
      (json) => (json === undefined ? undefined : (JSON.parse(json) as T)),
    );
  }

  /** Stores a JSON value and replaces an earlier one and its expiry. Throws `StorageFull` or `ValueTooLarge`. */
  set(key: string, value: unknown, { expiresInMs }: StoreOptions = {}): Promise<void> {
    const json = jsonOf(value);
    return hostPromise(() => this.#host.setText(key, json, expiresInMs));
  }

  getBytes(key: string): Promise<Uint8Array | undefined> {
    return hostPromise(
      () => this.#host.getBase64(key) ?? undefined,
      (base64) => (base64 === undefined ? undefined : fromBase64(base64)),
    );
  }

  /** Stores bytes, as `set` does. */
  setBytes(key: string, value: Uint8Array, { expiresInMs }: StoreOptions = {}): Promise<void> {
    const base64 = toBase64(value); // now, because it may change before the call is made
    return hostPromise(() => this.#host.setBase64(key, base64, expiresInMs));
  }

  /** Deletes a value. Resolves with whether it existed. */
  delete(key: string): Promise<boolean> {
    return hostPromise(() => this.#host.delete(key));
  }

  /**
   * Adds to a stored number and resolves with the sum. No increment of another run is lost. A missing key counts as 0
   * and gets the expiry; a key that exists keeps its own. Throws `StoredValueMismatch` when the value is not a number,
   * and `InvalidArguments` when the sum is beyond `Number.MAX_SAFE_INTEGER`.
   */
  increment(key: string, by = 1, { expiresInMs }: StoreOptions = {}): Promise<number> {
    return hostPromise(() => this.#host.increment(key, by, expiresInMs));
  }

  /**
   * Stores a JSON value if the present one is `expected`. Undefined stands for a missing key: as `expected`, the value
   * is only created, and as `value`, it is deleted. Resolves with whether the present value was `expected`; otherwise
   * nothing changes. Values are the same if `JSON.stringify` writes the same text, so pass what `get` returned.
   */
  compareAndSet(key: string, expected: unknown, value: unknown, options?: StoreOptions): Promise<boolean> {
    const [old, next] = [expected, value].map((one) => (one === undefined ? undefined : encodeUtf8(jsonOf(one))));
    return this.compareAndSetBytes(key, old, next, options);
  }

  /** Stores bytes if the present ones are `expected`, as `compareAndSet` does. */
  compareAndSetBytes(
    key: string,
    expected: Uint8Array | undefined,
    value: Uint8Array | undefined,
    { expiresInMs }: StoreOptions = {},
  ): Promise<boolean> {
    // Now, because they may change before the call is made.
    const [old, next] = [expected, value].map((bytes) => (bytes == null ? undefined : toBase64(bytes)));
    return hostPromise(() => this.#host.compareAndSetBase64(key, old, next, expiresInMs));
  }

  /** The keys that begin with `prefix`, in the order of their bytes. */
  keys(prefix = ''): Batches<string> {
    return pages<string>(
      PAGE,
      (last) => this.#host.list(prefix, last, PAGE),
      (key) => key,
    );
  }

  /** The JSON values whose keys begin with `prefix`, in the order of the keys. */
  entries<T = unknown>(prefix = ''): Batches<StoredEntry<T>> {
    return this.#list(prefix, true, ({ text, ...facts }) => ({
      ...factsOf(facts),
      value: JSON.parse(text ?? '') as T,
    }));
  }

  /** The keys that begin with `prefix` with facts about their values, which stay in the host. */
  facts(prefix = ''): Batches<StoredFacts> {
    return this.#list(prefix, false, factsOf);
  }

  #list<T>(prefix: string, withText: boolean, each: (entry: Entry) => T): Batches<T> {
    // The host ends a page where its values are many bytes. The last one is empty.
    return pages<Entry, T>(1, (last) => this.#host.listEntries(prefix, last?.key, PAGE, withText), each);
  }
}

const jsonOf = (value: unknown): string => JSON.stringify(value) ?? 'null';

const factsOf = ({ key, size, expiresInMs }: Omit<Entry, 'text'>): StoredFacts => ({
  key,
  size,
  expiresInMs: expiresInMs ?? undefined,
});
