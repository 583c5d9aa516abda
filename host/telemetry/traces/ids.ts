import { randomFillSync } from 'node:crypto';

/** Random numbers are taken from a reserve, because a call of the generator costs more than everything else of a span. */
const reserve = new Uint16Array(4096);
let used = reserve.length;
/** The hexadecimal digits of each number. */
const DIGITS = Array.from({ length: 2 ** 16 }, (_, number) => number.toString(16).padStart(4, '0'));

/** Returns a random trace id. One of zeros is invalid, and too improbable to be looked for. */
export const newTraceId = (): string => newSpanId() + newSpanId();

/** Returns a random span id. */
export const newSpanId = (): string => fourDigits() + fourDigits() + fourDigits() + fourDigits();

function fourDigits(): string {
  if (used === reserve.length) {
    randomFillSync(reserve);
    used = 0;
  }
  return DIGITS[reserve[used++] as number] as string;
}

/** A place in a trace. */
export interface TracePlace {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Returns the `traceparent` of a place. */
export function traceparentAt(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Returns the place of a valid `traceparent`. */
export function placeOf(traceparent: string): TracePlace {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
