import type { Counter, Histogram, Telemetry } from '../../base/core/telemetry.ts';
import { type Work, WorkTelemetry } from '../../base/core/work-telemetry.ts';
import type { ClaimedDelivery } from '../storage/index.ts';

/** Reports deliveries by their event. Targets are not labels, because users choose them. */
export class DeliveryTelemetry {
  readonly #attempts: WorkTelemetry;
  readonly #ended: Counter;
  readonly #counts: Histogram;

  constructor(telemetry: Telemetry) {
    this.#attempts = new WorkTelemetry(telemetry, 'aana.webhook.attempt', {
      description: 'Time of an attempt to send a message to a webhook.',
      attributes: ['aana.webhook.event'],
      kind: 'client',
    });
    this.#ended = telemetry.counter('aana.webhook.deliveries', {
      unit: '{delivery}',
      description: 'Messages that were delivered, or failed after the last attempt.',
      attributes: ['aana.webhook.event', 'aana.webhook.status'],
    });
    this.#counts = telemetry.histogram('aana.webhook.attempts', {
      unit: '{attempt}',
      description: 'Attempts of a message until it was delivered or failed.',
      attributes: ['aana.webhook.event', 'aana.webhook.status'],
    });
  }

  begin({ event, traceparent }: ClaimedDelivery): Work {
    return this.#attempts.begin({ 'aana.webhook.event': event }, traceparent ?? undefined);
  }

  /** Called when the message is not sent again. */
  ended({ event }: ClaimedDelivery, status: 'delivered' | 'failed', attempts: number): void {
    const attributes = { 'aana.webhook.event': event, 'aana.webhook.status': status };
    this.#ended.add(1, attributes);
    this.#counts.record(attempts, attributes);
  }
}
