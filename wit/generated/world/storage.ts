// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `storage` as a guest sees it. A function that fails throws the record `error`. */
export interface Storage {
  /** Returns the value of a key, none when the key is missing. */
  get(key: string): Uint8Array | undefined;
  /**
   * Sets the value of a key, completely or not at all. Keys have 1 to 120 bytes. Fails with `too-large` over the
   * limits on one value, on the number of values and on all values together.
   */
  set(key: string, value: Uint8Array): void;
  /** Removes a key. Returns whether it existed. */
  delete(key: string): boolean;
  /**
   * Returns the keys that begin with `prefix` and come after `after`, in the order of their bytes: at most `limit`,
   * and at most 1,000.
   */
  list(prefix: string, after: string | undefined, limit: number): readonly string[];
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface StorageCalls {
  'storage.get': { readonly args: readonly [key: string]; readonly value: Uint8Array | undefined };
  'storage.set': { readonly args: readonly [key: string, value: Uint8Array]; readonly value: undefined };
  'storage.delete': { readonly args: readonly [key: string]; readonly value: boolean };
  'storage.list': { readonly args: readonly [prefix: string, after: string | undefined, limit: number]; readonly value: readonly string[] };
}
