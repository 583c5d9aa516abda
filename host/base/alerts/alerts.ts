import { type Clock, systemClock } from '../core/clock.ts';
import type { Logger } from '../core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry.ts';
import { Alert, type Moment } from './alert.ts';
import { AlertTelemetry } from './alert-telemetry.ts';
import { Announcements, type Announce } from './announcements.ts';
import { findingsOf, type Look } from './conditions.ts';
import type { AlertFacts } from './facts.ts';
import type { AlertsReport } from './report.ts';
import { RequestWindow } from './request-window.ts';
import type { AlertRule, AlertSeverity } from './rules.ts';

export interface AlertsOptions {
  readonly rules: readonly AlertRule[];
  readonly intervalMs: number;
  /** Returns what is known now. It must not wait. */
  readonly facts: () => AlertFacts;
  /** Stores the event of an alert for webhooks. */
  readonly announce: Announce;
  readonly log: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /** Returns milliseconds since 1970. */
  readonly wallClock?: (() => number) | undefined;
}

/** Most alerts of one rule at a time, and most resolved alerts that are kept. */
const MOST_ALERTS = 100;

const LEVELS = { critical: 'error', warning: 'warn', info: 'info' } as const satisfies Record<AlertSeverity, string>;

interface WatchedRule {
  readonly rule: AlertRule;
  /** By subject. */
  readonly alerts: Map<string, Alert>;
  isKnown: boolean;
}

/** Watches the rules: logs, announces and keeps the alerts that fire. */
export class Alerts {
  readonly #options: AlertsOptions;
  readonly #rules: readonly WatchedRule[];
  readonly #window: RequestWindow;
  readonly #telemetry: AlertTelemetry;
  readonly #announcements: Announcements;
  /** The newest last. */
  readonly #resolved: Alert[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AlertsOptions) {
    const { rules, announce, log, telemetry = noTelemetry } = options;
    this.#options = options;
    this.#rules = rules.map((rule) => ({ rule, alerts: new Map<string, Alert>(), isKnown: false }));
    this.#window = new RequestWindow(Math.max(0, ...rules.map(({ window_s: windowS }) => windowS)) * 1000);
    this.#telemetry = new AlertTelemetry(telemetry);
    this.#announcements = new Announcements(announce, log);
    for (const rule of rules) this.#telemetry.set(rule, 0);
  }

  /** Looks now and again each `intervalMs`, without keeping the process alive. */
  start(): void {
    if (this.#timer || this.#rules.length === 0) return;
    this.#timer = setInterval(() => this.look(), this.#options.intervalMs).unref();
    this.look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Compares the facts with the rules once. */
  look(): void {
    const { facts, clock = systemClock, wallClock = Date.now, log } = this.#options;
    const moment = { tick: clock.now(), wall: wallClock() };
    let known: AlertFacts;
    try {
      known = facts();
    } catch (error) {
      return log.warn('the facts for alerts cannot be read', { error });
    }
    this.#window.note(moment.tick, known.requests);
    const look: Look = {
      ...known,
      now: moment.wall,
      requestsWithin: (seconds) => this.#window.within(seconds * 1000),
    };
    for (const watched of this.#rules) this.#watch(watched, look, moment);
    void this.#announcements.send();
  }

  /** Returns the alerts that fire, then pending ones, then the last resolved ones, each the newest first. */
  report(): AlertsReport {
    const current = this.#rules.flatMap(({ alerts }) => [...alerts.values()]);
    const newestFirst = current.map((alert) => alert.report()).sort((a, b) => b.since.localeCompare(a.since));
    return {
      alerts: [
        ...newestFirst.filter(({ state }) => state === 'firing'),
        ...newestFirst.filter(({ state }) => state === 'pending'),
        ...this.#resolved.map((alert) => alert.report()).toReversed(),
      ],
      rules: this.#rules.map(({ rule: { name, kind, severity, threshold, for_s, keep_s, only }, isKnown }) => ({
        ...{ name, kind, severity, threshold, for_s, keep_s, only: only && [...only], is_known: isKnown },
      })),
    };
  }

  #watch(watched: WatchedRule, look: Look, moment: Moment): void {
    const { rule, alerts } = watched;
    const findings = findingsOf(rule, look);
    watched.isKnown = findings !== undefined;
    if (!findings) return;
    const found = new Set(findings.map(({ subject }) => subject));
    let hasChanged = false;
    for (const [subject, alert] of alerts) {
      const end = found.has(subject) ? undefined : alert.end(moment);
      if (end === undefined) continue;
      alerts.delete(subject);
      if (end === 'dropped') continue;
      hasChanged = true;
      this.#resolve(alert);
    }
    for (const finding of findings) {
      let alert = alerts.get(finding.subject);
      if (!alert && alerts.size >= MOST_ALERTS) continue;
      if (!alert) alerts.set(finding.subject, (alert = new Alert(rule, finding, moment)));
      if (!alert.hold(finding, moment)) continue;
      hasChanged = true;
      this.#fire(alert);
    }
    if (hasChanged) this.#telemetry.set(rule, [...alerts.values()].filter(({ state }) => state === 'firing').length);
  }

  #fire(alert: Alert): void {
    const report = alert.report();
    const { id, rule, severity, subject, message: reason } = report;
    this.#options.log[LEVELS[severity]]('alert fires', { alert: rule, severity, subject, reason, id });
    this.#announcements.add('alert.firing', report);
  }

  #resolve(alert: Alert): void {
    const report = alert.report();
    const { id, rule, severity, subject } = report;
    this.#options.log.info('alert is resolved', { alert: rule, severity, subject, id });
    this.#announcements.add('alert.resolved', report);
    this.#resolved.push(alert);
    if (this.#resolved.length > MOST_ALERTS) this.#resolved.shift();
  }
}
