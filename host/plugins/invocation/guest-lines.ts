import type { Logger, LogLevel } from '../../core/log/logger.ts';
import type { AcceptedInvocation } from './accepted-invocation.ts';
import { guestFields } from './invocation-errors.ts';
import { PacedLog } from './paced-log.ts';

export interface GuestLinesOptions {
  /** For lines that are no invocation's. */
  readonly log: Logger;
  /** Gives a text of the guest with places in the plugin's sources instead of its bundle. */
  inSources(text: string): string;
  /** Called when a line cannot be written. */
  onFault(id: number | undefined, error: unknown): void;
}

/** Writes what a plugin's guests log and report, a few milliseconds in each turn of the event loop. */
export class GuestLines {
  readonly #options: GuestLinesOptions;
  readonly #paced: PacedLog;

  constructor(options: GuestLinesOptions) {
    this.#options = options;
    this.#paced = new PacedLog((lines) => options.log.warn('lines of the plugin were dropped', { lines }));
  }

  /** The time that a line takes is the guest's, also when it is written after the guest has ended. */
  add(invocation: AcceptedInvocation | undefined, level: LogLevel, message: string, fields: string): void {
    const { log, inSources, onFault } = this.#options;
    this.#paced.add(invocation?.id, message.length + fields.length, () => {
      const startedAt = performance.now();
      try {
        (invocation?.log ?? log)[level](inSources(message), guestFields(inSources(fields)));
      } catch (error) {
        onFault(invocation?.id, error);
      }
      invocation?.scope.charge(performance.now() - startedAt);
    });
  }

  addProgress({ id, log, request: { endpoint } }: AcceptedInvocation, fraction: number, text: string): void {
    this.#paced.add(id, text.length, () => log.info('progress', { endpoint, fraction, text }));
  }

  /** An invocation ends: writes what waits of it, but for what is too much for one turn. */
  end(id: number): void {
    this.#paced.end(id);
  }

  /** Writes all that waits. */
  flush(): void {
    this.#paced.flush();
  }
}
