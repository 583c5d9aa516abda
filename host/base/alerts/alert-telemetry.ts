import type { Gauge, Telemetry } from '../core/telemetry.ts';
import type { AlertRule } from './rules.ts';

/** Reports how many alerts of each rule fire. */
export class AlertTelemetry {
  readonly #firing: Gauge;

  constructor(telemetry: Telemetry) {
    this.#firing = telemetry.gauge('aana.alerts.firing', {
      unit: '{alert}',
      description: 'Alerts that fire, by rule.',
      attributes: ['aana.alert.rule', 'aana.alert.severity'],
    });
  }

  set({ name, severity }: AlertRule, count: number): void {
    this.#firing.set(count, { 'aana.alert.rule': name, 'aana.alert.severity': severity });
  }
}
