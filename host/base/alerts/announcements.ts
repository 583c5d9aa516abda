import type { Logger } from '../core/log/logger.ts';
import type { AlertReport } from './report.ts';

export type AlertEvent = 'alert.firing' | 'alert.resolved';

/** Stores an event for webhooks. Rejects when it could not be stored, and is then called again. */
export type Announce = (event: AlertEvent, alert: AlertReport) => Promise<void>;

/** Most events that wait for a database that is away. */
const MOST_WAITING = 1000;

/** The events of alerts that are not stored yet. They are stored in their order. */
export class Announcements {
  readonly #announce: Announce;
  readonly #log: Logger;
  readonly #waiting: { readonly event: AlertEvent; readonly alert: AlertReport }[] = [];
  #isSending = false;
  #hasFailed = false;

  constructor(announce: Announce, log: Logger) {
    this.#announce = announce;
    this.#log = log;
  }

  add(event: AlertEvent, alert: AlertReport): void {
    if (this.#waiting.length >= MOST_WAITING) this.#waiting.shift();
    this.#waiting.push({ event, alert });
  }

  /** Stores waiting events until one fails. The next call goes on with it. */
  async send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
        await this.#announce(next.event, next.alert);
        if (this.#waiting[0] === next) this.#waiting.shift();
        this.#hasFailed = false;
      }
    } catch (error) {
      if (!this.#hasFailed) this.#log.warn('webhooks are told of alerts later', { error });
      this.#hasFailed = true;
    } finally {
      this.#isSending = false;
    }
  }
}
