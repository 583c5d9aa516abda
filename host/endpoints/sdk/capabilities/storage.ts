import { hostPromise } from '../guest/event-loop.ts';
import type { Storage as HostStorage } from '../../../../wit/generated/world/storage.ts';
import { type Batches, pages } from './batches.ts';
import { decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';

const PAGE = 1000;

/** Values that the plugin keeps between requests. Keys have 1 to 120 bytes. Each plugin has its own keys. */
export class Storage {
  readonly #host: HostStorage;

  constructor(host: HostStorage) {
    this.#host = host;
  }

  /** Resolves with a value from its JSON, or with undefined when the key is missing. */
  get<T = unknown>(key: string): Promise<T | undefined> {
    return hostPromise(
      () => this.#host.get(key),
      (bytes) => (bytes ? (JSON.parse(decodeUtf8(bytes)) as T) : undefined),
    );
  }

  /** Stores a JSON value and replaces an earlier one. Throws `StorageFull` or `ValueTooLarge`. */
  set(key: string, value: unknown): Promise<void> {
    return this.setBytes(key, encodeUtf8(JSON.stringify(value) ?? 'null'));
  }

  getBytes(key: string): Promise<Uint8Array | undefined> {
    return hostPromise(
      () => this.#host.get(key),
      (bytes) => bytes ?? undefined, // bindings return null for an absent value
    );
  }

  setBytes(key: string, value: Uint8Array): Promise<void> {
    return hostPromise(() => this.#host.set(key, value));
  }

  /** Deletes a value. Resolves with whether it existed. */
  delete(key: string): Promise<boolean> {
    return hostPromise(() => this.#host.delete(key));
  }

  /** The keys that begin with `prefix`, in the order of their bytes. */
  keys(prefix = ''): Batches<string> {
    return pages<string>(
      PAGE,
      (last) => this.#host.list(prefix, last, PAGE),
      (key) => key,
    );
  }
}
