import type { ErrorKind } from '../core/errors.ts';

/** The one place where errors get their HTTP status. */
const STATUS: Readonly<Record<ErrorKind, number>> = {
  'invalid-input': 422,
  'bad-request': 400,
  denied: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  unavailable: 503,
  'deadline-exceeded': 504,
  cancelled: 499,
  'plugin-failed': 502,
  internal: 500,
};

export function statusOf(kind: ErrorKind): number {
  return STATUS[kind];
}
