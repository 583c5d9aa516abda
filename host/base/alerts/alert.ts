import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { canonicalUuid, newId } from '../core/ids.ts';
import type { Finding } from './conditions.ts';
import type { AlertReport } from './report.ts';
import type { AlertRule } from './rules.ts';

/** The time by two clocks. */
export interface Moment {
  /** Milliseconds of a clock that never jumps. */
  readonly tick: number;
  /** Milliseconds since 1970. */
  readonly wall: number;
}

export type AlertState = 'pending' | 'firing' | 'resolved';

/**
 * A rule and a subject for which its condition holds, or held a moment ago: pending, then firing, then resolved. It
 * fires when the condition has lasted for `for_s`, and is resolved when the condition has been over for `keep_s`.
 */
export class Alert {
  readonly rule: AlertRule;
  readonly #id: string;
  readonly #since: Moment;
  #finding: Finding;
  #state: AlertState = 'pending';
  #firedAt: number | undefined;
  #resolvedAt: number | undefined;
  /** When the condition ended; undefined while it holds. */
  #overSince: number | undefined;

  constructor(rule: AlertRule, finding: Finding, since: Moment) {
    this.rule = rule;
    this.#finding = finding;
    this.#since = since;
    this.#id = finding.occasion === undefined ? newId() : idOf(rule.name, finding.occasion);
  }

  get state(): AlertState {
    return this.#state;
  }

  /** Called when the condition holds. Returns whether the alert fires from now on. */
  hold(finding: Finding, { tick, wall }: Moment): boolean {
    this.#finding = finding;
    this.#overSince = undefined;
    if (this.#state !== 'pending' || tick - this.#since.tick < this.rule.for_s * 1000) return false;
    this.#state = 'firing';
    this.#firedAt = wall;
    return true;
  }

  /**
   * Called when the condition does not hold. Returns what ends with it: an alert that fired, or one that only waited.
   */
  end({ tick, wall }: Moment): 'resolved' | 'dropped' | undefined {
    if (this.#state === 'pending') return 'dropped';
    this.#overSince ??= tick;
    if (tick - this.#overSince < this.rule.keep_s * 1000) return undefined;
    this.#state = 'resolved';
    this.#resolvedAt = wall;
    return 'resolved';
  }

  report(): AlertReport {
    const { name, kind, severity, threshold } = this.rule;
    const { subject, value, message } = this.#finding;
    const time = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
    return {
      id: this.#id,
      rule: name,
      kind,
      severity,
      state: this.#state,
      subject,
      message,
      value,
      threshold,
      host: hostname(),
      since: new Date(this.#since.wall).toISOString(),
      fired_at: time(this.#firedAt),
      resolved_at: time(this.#resolvedAt),
    };
  }
}

/** Returns the same id in every host, so that webhooks are told once. */
function idOf(rule: string, occasion: string): string {
  return canonicalUuid(createHash('sha256').update(`${rule}\0${occasion}`).digest('hex').slice(0, 32));
}
