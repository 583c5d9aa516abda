// Generated from wit/world.wit by `npm run generate`; do not edit.
declare module 'aana:host/random@0.1.0' {
  /**
   * At most 65,536 bytes.
   */
  export function bytes(length: number): Uint8Array;
}
