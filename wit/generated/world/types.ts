// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The class of an error. Each one has one HTTP status. */
export type ErrorKind = 'invalid-input' | 'bad-request' | 'denied' | 'not-found' | 'conflict' | 'too-large'
  | 'unavailable' | 'deadline-exceeded' | 'cancelled' | 'internal';

/** The reason why a call failed. A guest that cannot go on returns it from `run` unchanged. */
export interface Error {
  readonly kind: ErrorKind;
  /** The class name that clients see as `error`, such as `DownloadException`. */
  readonly name: string;
  /** One sentence for people. */
  readonly message: string;
  /** Facts for programs: a JSON value. */
  readonly data: string;
}

/**
 * The number of a stored row: a whole number from 1 on. It is not a u64, because some languages' bindings lack that
 * type.
 */
export type RowId = number;

/** A token of a text and how likely the model found it. */
export interface TokenScore {
  /** The text of the token, with U+FFFD for bytes that are no whole character. */
  readonly token: string;
  /** The number of the token. */
  readonly id: number;
  /**
   * Natural logarithm of the probability, before sampling parameters change it; -9999 stands for a probability of 0.
   */
  readonly logprob: number;
  /** The bytes of the token in UTF-8. */
  readonly bytes: Uint8Array;
}

/**
 * Bytes in base64 (RFC 4648, with padding). Each value of a list takes time and memory of its own to pass, and texts
 * do not: as a `list<u8>`, many bytes take several times as long and a hundred times as much memory.
 */
export type Base64 = string;
