// Generated from wit/world.wit by `npm run generate`; do not edit.
declare module 'aana:host/log@0.1.0' {
  /**
   * Writes one line; `fields` is a JSON object or empty. Lines over 16 KiB are cut.
   */
  export function log(level: Level, message: string, fields: string): void;
  /**
   * # Variants
   *
   * ## `"debug"`
   *
   * ## `"info"`
   *
   * ## `"warn"`
   *
   * ## `"error"`
   */
  export type Level = 'debug' | 'info' | 'warn' | 'error';
}
