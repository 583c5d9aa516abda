import type { Counter, Telemetry } from '../core/telemetry.ts';

/** Reports the records of usage. */
export class UsageTelemetry {
  readonly #made: Counter;
  readonly #delivered: Counter;
  readonly #lost: Counter;

  constructor(telemetry: Telemetry) {
    const unit = '{record}';
    this.#made = telemetry.counter('aana.usage.records', { unit, description: 'Records of usage that were made.' });
    this.#delivered = telemetry.counter('aana.usage.records.delivered', {
      unit,
      description: 'Records of usage that another server has taken.',
    });
    this.#lost = telemetry.counter('aana.usage.records.lost', {
      unit,
      description:
        'Records of usage that were dropped: the file could not take them (file), too many waited (full), or the server refused them (refused).',
      attributes: ['aana.usage.reason'],
    });
  }

  made(records: number): void {
    this.#made.add(records);
  }

  delivered(records: number): void {
    this.#delivered.add(records);
  }

  lost(records: number, reason: 'file' | 'full' | 'refused'): void {
    this.#lost.add(records, { 'aana.usage.reason': reason });
  }
}
