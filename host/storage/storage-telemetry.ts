import { faultOf } from '../core/errors.ts';
import { type Histogram, noTelemetry, type Telemetry } from '../core/telemetry.ts';
import type { Dialect } from './database.ts';

/** Upper bounds in seconds, as OpenTelemetry's conventions for database clients state them. */
const BOUNDARIES = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Reports the work with the database, with the name of OpenTelemetry's conventions for database clients. */
export class StorageTelemetry {
  readonly #isOff: boolean;
  readonly #system: Dialect;
  readonly #durations: Histogram;

  constructor(telemetry: Telemetry, system: Dialect) {
    this.#isOff = telemetry === noTelemetry;
    this.#system = system;
    this.#durations = telemetry.histogram('db.client.operation.duration', {
      unit: 's',
      description: 'Time of reading (`read`) or of a transaction (`write`), the wait for a connection included.',
      attributes: ['db.system.name', 'db.operation.name', 'error.type'],
      boundaries: BOUNDARIES,
    });
  }

  /** Runs and reports work on one connection. */
  async run<T>(operation: 'read' | 'write', work: () => Promise<T>): Promise<T> {
    if (this.#isOff) return work();
    const startedAt = performance.now();
    let failed: { readonly 'error.type'?: string } = {};
    try {
      return await work();
    } catch (error) {
      failed = { 'error.type': faultOf(error) };
      throw error;
    } finally {
      const attributes = { 'db.system.name': this.#system, 'db.operation.name': operation, ...failed };
      this.#durations.record((performance.now() - startedAt) / 1000, attributes);
    }
  }
}
