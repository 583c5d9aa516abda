import type { MetricValue, ReplicaMetric } from '../../rpc/index.ts';

/** Waits that are kept between two reports; more are left out. */
const MOST_VALUES = 1000;
/** Tenants with a label of their own; the waits of further ones have the label `other`. */
const MOST_TENANTS = 50;

/** How long requests waited before an engine began them, by tenant. */
export class WaitTimes {
  readonly #tenants = new Set<string>();
  #values: MetricValue[] = [];

  /** Called when a request has ended. `tenant` is null for a request without a key. */
  add(tenant: string | null | undefined, milliseconds: number): void {
    if (this.#values.length >= MOST_VALUES) return;
    this.#values.push({ value: milliseconds / 1000, attributes: { 'aana.tenant': this.#labelOf(tenant) } });
  }

  /** Returns the waits since the last report. */
  report(): ReplicaMetric {
    const values = this.#values;
    this.#values = [];
    const description = 'Time that a request waited in the engine for its turn.';
    return { name: 'aana.engine.request.wait', kind: 'histogram', unit: 's', description, values };
  }

  #labelOf(tenant: string | null | undefined): string {
    if (tenant == null) return 'none';
    if (this.#tenants.size < MOST_TENANTS) this.#tenants.add(tenant);
    return this.#tenants.has(tenant) ? tenant : 'other';
  }
}
