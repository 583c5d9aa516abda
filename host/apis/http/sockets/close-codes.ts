import { type ErrorKind, toErrorRecord } from '../../../base/core/errors.ts';

/** Codes with which the server closes sockets. Source: RFC 6455, section 7.4.1, and IANA's registry. */
export const CLOSE_CODES = {
  normal: 1000,
  goingAway: 1001,
  unsupportedData: 1003,
  invalidPayload: 1007,
  policyViolation: 1008,
  tooLarge: 1009,
  internalError: 1011,
  tryAgainLater: 1013,
} as const;

const CODE_OF_KIND: Readonly<Partial<Record<ErrorKind, number>>> = {
  'invalid-input': CLOSE_CODES.invalidPayload,
  'too-large': CLOSE_CODES.tooLarge,
  unavailable: CLOSE_CODES.tryAgainLater,
  internal: CLOSE_CODES.internalError,
  'plugin-failed': CLOSE_CODES.internalError,
};

/**
 * Errors whose code does not follow from their kind. They may come back from a replica, which keeps only their names.
 */
const CODE_OF_NAME: Readonly<Record<string, number>> = {
  UnsupportedMessage: CLOSE_CODES.unsupportedData,
  ShuttingDown: CLOSE_CODES.goingAway,
};

/** Returns the code for a socket whose protocol has thrown. */
export function closeCodeOf(thrown: unknown): number {
  const { name, kind } = toErrorRecord(thrown);
  return CODE_OF_NAME[name] ?? CODE_OF_KIND[kind] ?? CLOSE_CODES.policyViolation;
}

/** Most bytes of a reason in a close frame. */
const MAX_REASON_BYTES = 123;

/** Returns the reason in the close frame: the name of the error. */
export function closeReasonOf(thrown: unknown): string {
  const { name } = toErrorRecord(thrown);
  return Buffer.byteLength(name) <= MAX_REASON_BYTES ? name : '';
}
