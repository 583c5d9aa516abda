import { hostCall } from '../host-error.ts';
import type { Storage as HostStorage } from '../../../../wit/generated/world/storage.ts';
import { decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';

const PAGE = 1000;

/** Values that the plugin keeps between requests. Keys have 1 to 120 bytes. Each plugin has its own keys. */
export class Storage {
  readonly #host: HostStorage;

  constructor(host: HostStorage) {
    this.#host = host;
  }

  /** Returns a value from its JSON, or undefined when the key is missing. */
  get<T = unknown>(key: string): T | undefined {
    const bytes = this.getBytes(key);
    return bytes && (JSON.parse(decodeUtf8(bytes)) as T);
  }

  /** Stores a JSON value and replaces an earlier one. Throws `StorageFull` or `ValueTooLarge`. */
  set(key: string, value: unknown): void {
    this.setBytes(key, encodeUtf8(JSON.stringify(value) ?? 'null'));
  }

  getBytes(key: string): Uint8Array | undefined {
    return hostCall(() => this.#host.get(key)) ?? undefined; // bindings return null for an absent value
  }

  setBytes(key: string, value: Uint8Array): void {
    hostCall(() => this.#host.set(key, value));
  }

  /** Deletes a value. Returns whether it existed. */
  delete(key: string): boolean {
    return hostCall(() => this.#host.delete(key));
  }

  /** Returns the keys that begin with `prefix`, in the order of their bytes. */
  *keys(prefix = ''): Generator<string, void, undefined> {
    for (let after: string | undefined; ;) {
      const last = after;
      const keys = hostCall(() => this.#host.list(prefix, last, PAGE));
      yield* keys;
      after = keys.at(-1);
      if (keys.length < PAGE) return;
    }
  }
}
