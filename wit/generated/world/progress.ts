// Generated from wit/world.wit by `npm run generate`; do not edit.

/** The interface `progress` as a guest sees it. A function that fails throws the record `error`. */
export interface Progress {
  /**
   * Reports the finished fraction, from 0 to 1, and the current step. The host logs it, and may show it to the client.
   * A report is dropped when it changes neither the whole percent nor the text, and after the thousandth report.
   */
  report(fraction: number, text: string): void;
  /**
   * Reports as `report` does, and says which fraction the next step ends at. While a deployment works in this step,
   * its own progress moves the invocation's from `fraction` to `until`. Before the first report, a call of a
   * deployment moves it from 0 to 1.
   */
  reportStep(fraction: number, until: number, text: string): void;
}
