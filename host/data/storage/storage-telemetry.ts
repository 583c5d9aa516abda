import { faultOf } from '../../base/core/errors.ts';
import { type Histogram, noTelemetry, type Telemetry } from '../../base/core/telemetry.ts';
import type { Connection, Dialect } from './database.ts';
import { QuerySummary } from './query-summary.ts';

/** Upper bounds in seconds, as OpenTelemetry's conventions for database clients state them. */
const BOUNDARIES = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** The traces that work with the database is done for. */
export interface InTraces {
  /** A `traceparent` for each. A transaction can be shared by the writes of several requests. */
  readonly inTraces?: readonly (string | undefined)[] | undefined;
}

/** Reports the work with the database, with the name of OpenTelemetry's conventions for database clients. */
export class StorageTelemetry {
  /** Whether nothing is reported. */
  readonly isOff: boolean;
  readonly #system: Dialect;
  readonly #durations: Histogram;
  readonly #span: Telemetry['span'];

  constructor(telemetry: Telemetry, system: Dialect) {
    this.isOff = telemetry === noTelemetry;
    this.#system = system;
    this.#span = (name, options) => telemetry.span(name, options);
    this.#durations = telemetry.histogram('db.client.operation.duration', {
      unit: 's',
      description: 'Time of reading (`read`) or of a transaction (`write`), the wait for a connection included.',
      attributes: ['db.system.name', 'db.operation.name', 'error.type'],
      boundaries: BOUNDARIES,
    });
  }

  /**
   * Runs and reports work on one connection, with a span in each of the traces that it is done for. Work for no trace,
   * such as a look for due tasks, has none. `work` passes its connection through `observe`.
   */
  async run<T>(
    operation: 'read' | 'write',
    inTraces: InTraces['inTraces'],
    work: (observe: (connection: Connection) => Connection) => Promise<T>,
  ): Promise<T> {
    if (this.isOff) return work((connection) => connection);
    const parents = inTraces?.filter((parent) => parent !== undefined) ?? [];
    if (parents.length === 0) return this.#measured(operation, () => work((connection) => connection), undefined);
    const system = { 'db.system.name': this.#system, 'db.operation.name': operation };
    const spans = parents.map((parent) =>
      this.#span(`${operation} ${this.#system}`, { parent, kind: 'client', attributes: system }),
    );
    const summary = new QuerySummary();
    const end = (error?: unknown): void => {
      const attributes = { ...system, ...summary.attributes() };
      for (const span of spans) span.end({ error, attributes });
    };
    try {
      const observe = (connection: Connection): Connection => summary.observe(connection);
      const result = await this.#measured(operation, () => work(observe), spans[0]?.traceparent);
      end();
      return result;
    } catch (error) {
      end(error);
      throw error;
    }
  }

  async #measured<T>(operation: 'read' | 'write', work: () => Promise<T>, traceparent: string | undefined): Promise<T> {
    const startedAt = performance.now();
    let failed: { readonly 'error.type'?: string } = {};
    try {
      return await work();
    } catch (error) {
      failed = { 'error.type': faultOf(error) };
      throw error;
    } finally {
      const attributes = { 'db.system.name': this.#system, 'db.operation.name': operation, ...failed };
      this.#durations.record((performance.now() - startedAt) / 1000, attributes, traceparent);
    }
  }
}
