import type { ReplicaMetric } from '../../rpc/index.ts';

type Measured = (name: string, unit: string, value: number, description: string) => ReplicaMetric;

/** Returns a total since the process started. `name` follows `aana.engine.`. */
export const total: Measured = (name, unit, value, description) => metric('counter', name, unit, value, description);

/** Returns a present value. `name` follows `aana.engine.`. */
export const present: Measured = (name, unit, value, description) => metric('gauge', name, unit, value, description);

/** Returns a value measured since the last report. `name` follows `aana.engine.`. */
export const recent: Measured = (name, unit, value, description) => metric('histogram', name, unit, value, description);

/** Measures that engines for texts and engines for embeddings have. */
export const waiting = (count: number): ReplicaMetric =>
  present('requests.waiting', '{request}', count, 'Requests that wait for a place or for their readers.');
export const running = (count: number): ReplicaMetric =>
  present('requests.running', '{request}', count, 'Requests that have a place.');
export const computed = (tokens: number): ReplicaMetric =>
  total('tokens.computed', '{token}', tokens, 'Tokens that were computed.');
export const stepsMade = (steps: number): ReplicaMetric => total('steps', '{step}', steps, 'Steps of the engine.');
export const tokensOfStep = (mean: number): ReplicaMetric =>
  recent('step.tokens', '{token}', mean, 'Mean tokens of a step since the last report.');

function metric(
  kind: ReplicaMetric['kind'],
  name: string,
  unit: string,
  value: number,
  description: string,
): ReplicaMetric {
  return { name: `aana.engine.${name}`, kind, unit, description, values: [{ value }] };
}
