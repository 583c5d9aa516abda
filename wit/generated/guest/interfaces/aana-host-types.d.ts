// Generated from wit/world.wit by `npm run generate`; do not edit.
declare module 'aana:host/types@0.1.0' {
  /**
   * Which of the host's error classes this is; each has one HTTP status.
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
  export type ErrorKind = 'invalid-input' | 'bad-request' | 'denied' | 'not-found' | 'conflict' | 'too-large' | 'unavailable' | 'deadline-exceeded' | 'cancelled' | 'internal';
  /**
   * Why a call failed. A guest that cannot go on returns it from `run` unchanged.
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
   * The number of something that is kept: a whole one, from 1 on. Not a u64, which some languages' bindings cannot take.
   */
  export type RowId = number;
}
