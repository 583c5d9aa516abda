// Generated from wit/world.wit by `npm run generate`; do not edit.
declare module 'aana:host/types@0.1.0' {
  /**
   * The class of an error. Each one has one HTTP status.
   * # Variants
   *
   * ## `"invalid-input"`
   *
   * ## `"bad-request"`
   *
   * ## `"denied"`
   *
   * ## `"not-found"`
   *
   * ## `"conflict"`
   *
   * ## `"too-large"`
   *
   * ## `"unavailable"`
   *
   * ## `"deadline-exceeded"`
   *
   * ## `"cancelled"`
   *
   * ## `"internal"`
   */
  export type ErrorKind = 'invalid-input' | 'bad-request' | 'denied' | 'not-found' | 'conflict' | 'too-large'
    | 'unavailable' | 'deadline-exceeded' | 'cancelled' | 'internal';
  /**
   * The reason why a call failed. A guest that cannot go on returns it from `run` unchanged.
   */
  export interface Error {
    kind: ErrorKind,
    /**
     * The class name that clients see as `error`, such as `DownloadException`.
     */
    name: string,
    /**
     * One sentence for people.
     */
    message: string,
    /**
     * Facts for programs: a JSON value.
     */
    data: string,
  }
  /**
   * The number of a stored row: a whole number from 1 on. It is not a u64, because some languages' bindings lack that
   * type.
   */
  export type RowId = number;
  /**
   * A token of a text and how likely the model found it.
   */
  export interface TokenScore {
    /**
     * The text of the token, with U+FFFD for bytes that are no whole character.
     */
    token: string,
    /**
     * The number of the token.
     */
    id: number,
    /**
     * Natural logarithm of the probability, before sampling parameters change it; -9999 stands for a probability of 0.
     */
    logprob: number,
    /**
     * The bytes of the token in UTF-8.
     */
    bytes: Uint8Array,
  }
  /**
   * Bytes in base64 (RFC 4648, with padding). Each value of a list takes time and memory of its own to pass, and texts
   * do not: as a `list<u8>`, many bytes take several times as long and a hundred times as much memory.
   */
  export type Base64 = string;
}
