import type { Attributes } from '../../base/core/telemetry.ts';

/** A measured quantity of a replica, which the host adds up over the replicas and restarts of a deployment. */
export interface ReplicaMetric {
  /** A name such as `aana.engine.steps`. */
  readonly name: string;
  /**
   * `counter`: the values are totals since the process started. `gauge`: they are present values. `histogram`: they
   * were measured since the last report.
   */
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** A unit of UCUM, such as `s` or `{token}`. */
  readonly unit: string;
  /** One sentence for people. */
  readonly description: string;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly attributes?: Attributes | undefined;
}
