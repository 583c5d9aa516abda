// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `random` as a guest sees it. A function that fails throws the record `error`. */
export interface Random {
  /** At most 65,536 bytes. */
  bytes(length: number): Uint8Array;
}
