// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/storage@0.1.0' {
  /**
   * Returns the value of a key, none when the key is missing.
   */
  export function get(key: string): Uint8Array | undefined;
  /**
   * Sets the value of a key, which then does not expire. Keys have 1 to 120 bytes. Fails with `too-large` over the
   * limits on one value, on the number of values and on all values together.
   */
  export function set(key: string, value: Uint8Array): void;
  /**
   * Removes a key. Returns whether it existed.
   */
  export { _delete as delete };
  function _delete(key: string): boolean;
  /**
   * Returns the keys that begin with `prefix` and come after `after`, in the order of their bytes: at most `limit`,
   * and at most 1,000.
   */
  export function list(prefix: string, after: string | undefined, limit: number): Array<string>;
  /**
   * Returns the value of a key as `get` does. Text crosses the border about ten times faster than bytes. Fails with
   * `StoredValueMismatch` when the value is not UTF-8.
   */
  export function getText(key: string): string | undefined;
  /**
   * Sets the value of a key to the bytes of a text in UTF-8, as `set` does. It expires after `expires-in-ms`
   * milliseconds if they are given.
   */
  export function setText(key: string, value: string, expiresInMs: number | undefined): void;
  /**
   * Sets the value of a key, as `set` does. It expires after `expires-in-ms` milliseconds.
   */
  export function setExpiring(key: string, value: Uint8Array, expiresInMs: number): void;
  /**
   * Adds `by` to the value of a key, which is a number in JSON, and returns the new value. A missing key has the value
   * 0, and expires after `expires-in-ms` milliseconds if they are given; a key that exists keeps its time. Fails with
   * `StoredValueMismatch` when the value is not a number, and with `InvalidArguments` when `by` is not finite or the
   * new value is beyond ±9,007,199,254,740,991, above which numbers are not exact. A failure changes nothing.
   */
  export function increment(key: string, by: number, expiresInMs: number | undefined): number;
  /**
   * Sets the value of a key if its bytes are `expected` (none: if it is missing). No `value` removes the key. Returns
   * whether the bytes were those; otherwise nothing changes. The new value expires as that of `set-text` does.
   */
  export function compareAndSet(key: string, expected: Uint8Array | undefined, value: Uint8Array | undefined,
    expiresInMs: number | undefined): boolean;
  /**
   * Returns the value of a key as `get` does. In base64, many bytes take a fifth of the time and a tenth of
   * the memory to cross the border.
   */
  export function getBase64(key: string): Base64 | undefined;
  /**
   * Sets the value of a key, as `set-text` does.
   */
  export function setBase64(key: string, value: Base64, expiresInMs: number | undefined): void;
  /**
   * Does the same as `compare-and-set`.
   */
  export function compareAndSetBase64(key: string, expected: Base64 | undefined, value: Base64 | undefined,
    expiresInMs: number | undefined): boolean;
  /**
   * Returns the entries whose keys `list` returns. With values, an answer ends before their texts have more than 1
   * MiB, but not before the first entry. Empty when there are no more.
   */
  export function listEntries(prefix: string, after: string | undefined, limit: number,
    withText: boolean): Array<Entry>;
  export type Base64 = import('aana:host/types@0.1.0').Base64;
  export type Error = import('aana:host/types@0.1.0').Error;
  /**
   * A key with facts about its value.
   */
  export interface Entry {
    key: string,
    /**
     * Bytes of the value.
     */
    size: number,
    /**
     * Milliseconds until the value expires. None when it does not.
     */
    expiresInMs?: number,
    /**
     * The value, if values were asked for and this one is UTF-8.
     */
    text?: string,
  }
}
