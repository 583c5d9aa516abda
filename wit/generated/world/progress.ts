// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `progress` as a guest sees it. A function that fails throws the record `error`. */
export interface Progress {
  /**
   * Says what was done, from 0 to 1, and what is being done now. The host logs it, and may show it to the client. A report that
   * changes neither the whole percent nor the text is dropped, and so are those after the thousandth.
   */
  report(fraction: number, text: string): void;
}
