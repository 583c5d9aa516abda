import type { ReplicaMetric } from '../../rpc/index.ts';

type Measured = (name: string, unit: string, value: number, description: string) => ReplicaMetric;

/** Returns a total since the process started. `name` follows `aana.engine.`. */
export const total: Measured = (name, unit, value, description) => metric('counter', name, unit, value, description);

/** Returns a present value. `name` follows `aana.engine.`. */
export const present: Measured = (name, unit, value, description) => metric('gauge', name, unit, value, description);

/** Returns a value measured since the last report. `name` follows `aana.engine.`. */
export const recent: Measured = (name, unit, value, description) => metric('histogram', name, unit, value, description);

function metric(
  kind: ReplicaMetric['kind'],
  name: string,
  unit: string,
  value: number,
  description: string,
): ReplicaMetric {
  return { name: `aana.engine.${name}`, kind, unit, description, values: [{ value }] };
}
