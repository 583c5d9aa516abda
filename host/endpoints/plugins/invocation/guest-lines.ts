import type { Logger, LogLevel } from '../../../base/core/log/logger.ts';
import type { AcceptedInvocation } from './accepted-invocation.ts';
import { isDeep } from './border.ts';
import { guestFields } from './invocation-errors.ts';
import { PacedLog } from './paced-log.ts';

/** Maximum lines of one invocation, and characters of a line and of its fields. */
const maxLines = 1_000;
const maxLineChars = 16 * 1024;

const same = <T>(value: T): T => value;

export interface GuestLinesOptions {
  /** The log for lines outside of invocations. */
  readonly log: Logger;
  /** Returns a text of the guest with positions in the plugin's sources instead of its bundle. */
  inSources(text: string): string;
  /** Called when a line cannot be written. */
  onFault(invocation: AcceptedInvocation | undefined, error: unknown): void;
}

/** Writes log lines and progress of a plugin's guests, for a few milliseconds in each turn of the event loop. */
export class GuestLines {
  readonly #options: GuestLinesOptions;
  readonly #paced: PacedLog;
  /** Lines so far outside of invocations. */
  lines = 0;

  constructor(options: GuestLinesOptions) {
    this.#options = options;
    this.#paced = new PacedLog((lines) => options.log.warn('lines of the plugin were dropped', { lines }));
  }

  /**
   * Adds a line. The time for writing it is charged to the guest, also after the guest has ended. Lines over the limit
   * are dropped, long lines are cut, and fields that are long or nested too deep are left out.
   */
  add(invocation: AcceptedInvocation | undefined, level: LogLevel, message: string, fields: string): void {
    const line = ++(invocation ?? this).lines;
    if (line === maxLines + 1) this.#write(invocation, 'warn', `further lines are dropped after ${maxLines}`, '');
    if (line > maxLines) return;
    const isLong = fields.length > maxLineChars || isDeep(fields);
    this.#write(invocation, level, message, isLong ? '' : fields);
  }

  addProgress({ id, log, request: { endpoint } }: AcceptedInvocation, fraction: number, text: string): void {
    this.#paced.add(id, text.length, () => log.info('progress', { endpoint, fraction, text }));
  }

  /** Writes the waiting lines of an invocation that ends, as far as they fit into one turn. */
  end(id: number): void {
    this.#paced.end(id);
  }

  /** Writes all waiting lines. */
  flush(): void {
    this.#paced.flush();
  }

  #write(invocation: AcceptedInvocation | undefined, level: LogLevel, message: string, fields: string): void {
    const { log, inSources, onFault } = this.#options;
    const { mask = same } = invocation?.scope.settings ?? {};
    const text = mask(message.slice(0, maxLineChars));
    this.#paced.add(invocation?.id, text.length + fields.length, () => {
      const startedAt = performance.now();
      try {
        (invocation?.log ?? log)[level](inSources(text), mask(guestFields(inSources(fields))));
      } catch (error) {
        onFault(invocation, error);
      }
      invocation?.scope.charge(performance.now() - startedAt);
    });
  }
}
