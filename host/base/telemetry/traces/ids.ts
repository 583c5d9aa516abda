import { randomFillSync } from 'node:crypto';
import { isSampledSpan } from '../../core/request-context.ts';

/**
 * Ids are cut out of a reserve of random digits, because a call of the generator costs more than everything else of a
 * span. The text is short, because an id that is kept keeps the whole text in memory. The bytes before it are many,
 * because a call of the generator takes almost the same time for any number of them.
 */
let reserve = '';
let used = 0;
const RESERVE_BYTES = 512;
const random = Buffer.alloc(16 * RESERVE_BYTES);
let usedBytes = random.length;

/** Returns a random trace id. One of zeros is invalid, and too improbable to be looked for. */
export const newTraceId = (): string => digits(32);

/** Returns a random span id. */
export const newSpanId = (): string => digits(16);

function digits(count: number): string {
  if (used + count > reserve.length) {
    reserve = randomText();
    used = 0;
  }
  used += count;
  return reserve.slice(used - count, used);
}

function randomText(): string {
  if (usedBytes === random.length) {
    randomFillSync(random);
    usedBytes = 0;
  }
  usedBytes += RESERVE_BYTES;
  return random.toString('hex', usedBytes - RESERVE_BYTES, usedBytes);
}

/** The ids of a span, from a `traceparent`. */
export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Returns the `traceparent` of a span. */
export function traceparentAt(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Returns the ids in a valid `traceparent`. */
export function spanContextOf(traceparent: string): SpanContext {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    isSampled: isSampledSpan(traceparent),
  };
}
