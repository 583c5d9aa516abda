// Generated from wit/world.wit by `npm run generate`; do not edit.

export type Level = 'debug' | 'info' | 'warn' | 'error';

/** The interface `log` as a guest sees it. A function that fails throws the record `error`. */
export interface Log {
  /** Writes one line; `fields` is a JSON object or empty. Lines over 16 KiB are cut. */
  log(level: Level, message: string, fields: string): void;
}
