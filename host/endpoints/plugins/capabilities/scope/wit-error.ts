import { AanaError, type ErrorKind, toErrorRecord } from '../../../../base/core/errors.ts';
import { boundedJson, type JsonBounds } from '../../../../base/core/json/bounded-json.ts';
import type { WitError } from '../../invocation/protocol.ts';

/** The kinds for guests, because the world does not have all kinds. */
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
/** Errors whose kind the world does not have. They have it again when a guest passes them on. */
const NAMED_KINDS: Readonly<Record<string, ErrorKind>> = { TooManyRequestsException: 'rate-limited' };

/** Bounds for the data of an error, because deployments and helpers write them. */
const dataBounds: JsonBounds = { maxDepth: 256, maxElements: 100_000, maxChars: 1024 * 1024 };

/** Returns the record of a host error for a guest. */
export function toWitError(thrown: unknown): WitError {
  const { kind, name, message, data } = toErrorRecord(thrown);
  return { kind: guestKinds[kind], name, message, data: boundedJson(data, dataBounds) };
}

/**
 * Returns the host error for a guest's record. Invalid values in the record are replaced. An `internal` error counts as
 * unexpected, except `OutputError` of the SDK, because the host cannot tell whether the guest meant it.
 */
export function fromWitError({ kind, name, message, data }: WitError): AanaError {
  const known = (Object.hasOwn(NAMED_KINDS, name) && NAMED_KINDS[name]) || (kinds.has(kind) ? kind : 'internal');
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
