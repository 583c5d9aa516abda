import type { Counter, Span, Telemetry } from '../../base/core/telemetry.ts';

/** Reports the records of usage. */
export class UsageTelemetry {
  readonly #made: Counter;
  readonly #delivered: Counter;
  readonly #lost: Counter;
  readonly #span: Telemetry['span'];

  constructor(telemetry: Telemetry) {
    const unit = '{record}';
    this.#span = (name, options) => telemetry.span(name, options);
    this.#made = telemetry.counter('aana.usage.records', { unit, description: 'Records of usage that were made.' });
    this.#delivered = telemetry.counter('aana.usage.records.delivered', {
      unit,
      description: 'Records of usage that another server has taken.',
    });
    this.#lost = telemetry.counter('aana.usage.records.lost', {
      unit,
      description:
        'Records of usage that were dropped: the file could not take them (file), too many waited (full), or the ' +
        'server refused them (refused).',
      attributes: ['aana.usage.reason'],
    });
  }

  /**
   * Begins the span of work for the outbox. It begins a trace of its own, because records of many requests share it.
   */
  begin(work: 'store' | 'send', records: number): Span {
    const kind = work === 'send' ? 'client' : 'internal';
    return this.#span(`aana.usage.${work}`, { kind, attributes: { 'aana.usage.records': records } });
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
