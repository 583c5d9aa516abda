// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/storage@0.1.0' {
  /**
   * Returns the value of a key, none when the key is missing.
   */
  export function get(key: string): Uint8Array | undefined;
  /**
   * Sets the value of a key, completely or not at all. Keys have 1 to 120 bytes. Fails with `too-large` over the
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
  export type Error = import('aana:host/types@0.1.0').Error;
}
