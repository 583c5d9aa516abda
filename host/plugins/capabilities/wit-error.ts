import { AanaError, type ErrorKind, toErrorRecord } from '../../core/errors.ts';
import type { WitError } from '../protocol.ts';

const kinds: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'invalid-input',
  'bad-request',
  'denied',
  'not-found',
  'conflict',
  'too-large',
  'unavailable',
  'deadline-exceeded',
  'cancelled',
  'internal',
]);

/** A host error as a guest gets it. */
export function toWitError(thrown: unknown): WitError {
  const { kind, name, message, data } = toErrorRecord(thrown);
  return { kind: kind === 'plugin-failed' ? 'internal' : kind, name, message, data: JSON.stringify(data) ?? '{}' };
}

/** A guest's error as the host throws it. What does not fit the record is made to. */
export function fromWitError({ kind, name, message, data }: WitError): AanaError {
  return new AanaError(name, kinds.has(kind) ? kind : 'internal', message, { data: parsed(data) });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
