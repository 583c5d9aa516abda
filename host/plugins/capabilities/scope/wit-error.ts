import { AanaError, type ErrorKind, toErrorRecord } from '../../../core/errors.ts';
import { boundedJson, type JsonBounds } from '../../../core/json/bounded-json.ts';
import type { WitError } from '../../invocation/protocol.ts';

/** Each kind as guests see it: the world has not all of them. */
const guestKinds: Readonly<Record<ErrorKind, WitError['kind']>> = {
  'invalid-input': 'invalid-input',
  'bad-request': 'bad-request',
  unauthenticated: 'denied',
  denied: 'denied',
  'not-found': 'not-found',
  conflict: 'conflict',
  'too-large': 'too-large',
  'rate-limited': 'unavailable',
  unavailable: 'unavailable',
  'deadline-exceeded': 'deadline-exceeded',
  cancelled: 'cancelled',
  'plugin-failed': 'internal',
  internal: 'internal',
};
const kinds: ReadonlySet<ErrorKind> = new Set(Object.values(guestKinds));

/** Of an error's data; deployments and other plugins' helpers write them. */
const dataBounds: JsonBounds = { maxDepth: 256, maxElements: 100_000, maxChars: 1024 * 1024 };

/** A host error as a guest gets it. */
export function toWitError(thrown: unknown): WitError {
  const { kind, name, message, data } = toErrorRecord(thrown);
  return { kind: guestKinds[kind], name, message, data: boundedJson(data, dataBounds) };
}

/**
 * A guest's error as the host throws it. What does not fit the record is made to. Whether a guest meant an `internal`
 * one, nobody can tell; the SDK means its own.
 */
export function fromWitError({ kind, name, message, data }: WitError): AanaError {
  const known = kinds.has(kind) ? kind : 'internal';
  return new AanaError(name, known, message, {
    data: parsed(data),
    unexpected: known === 'internal' && name !== 'OutputError',
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
