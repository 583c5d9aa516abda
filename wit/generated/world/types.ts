// Generated from wit/world.wit by `npm run generate`; do not edit.

/** Which of the host's error classes this is; each has one HTTP status. */
export type ErrorKind = 'invalid-input' | 'bad-request' | 'denied' | 'not-found' | 'conflict' | 'too-large' | 'unavailable' | 'deadline-exceeded' | 'cancelled' | 'internal';

/** Why a call failed. A guest that cannot go on returns it from `run` unchanged. */
export interface Error {
  readonly kind: ErrorKind;
  /** The class name that clients see as `error`, such as `DownloadException`. */
  readonly name: string;
  /** One sentence for people. */
  readonly message: string;
  /** Facts for programs: a JSON value. */
  readonly data: string;
}

/** The number of something that is kept: a whole one, from 1 on. Not a u64, which some languages' bindings cannot take. */
export type RowId = number;
