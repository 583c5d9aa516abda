import { hostCall } from '../host-error.ts';
import type { Storage as HostStorage } from '../../../wit/generated/world/storage.ts';
import { decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';

const PAGE = 1000;

/** What the plugin keeps between requests. Keys have 1 to 120 bytes; other plugins have keys of their own. */
export class Storage {
  readonly #host: HostStorage;

  constructor(host: HostStorage) {
    this.#host = host;
  }

  /** A value as it was set, through JSON. */
  get<T = unknown>(key: string): T | undefined {
    const bytes = this.getBytes(key);
    return bytes && (JSON.parse(decodeUtf8(bytes)) as T);
  }

  /** Keeps a JSON value, in place of an earlier one. Throws `StorageFull` or `ValueTooLarge`. */
  set(key: string, value: unknown): void {
    this.setBytes(key, encodeUtf8(JSON.stringify(value) ?? 'null'));
  }

  getBytes(key: string): Uint8Array | undefined {
    return hostCall(() => this.#host.get(key)) ?? undefined; // bindings give null for none
  }

  setBytes(key: string, value: Uint8Array): void {
    hostCall(() => this.#host.set(key, value));
  }

  /** Whether it was there. */
  delete(key: string): boolean {
    return hostCall(() => this.#host.delete(key));
  }

  /** The keys that begin with `prefix`, in the order of their bytes. */
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
