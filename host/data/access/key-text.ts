import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The beginning of all keys of this package, by which people and scanners of sources and logs recognise them. */
export const API_KEY_PREFIX = 'aana_';
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_DIGITS = 32;
const CHECK_DIGITS = 6;
const SHAPE = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${RANDOM_DIGITS + CHECK_DIGITS}}$`);

/** Returns a new key: the prefix, 190 random bits in base 62, and a checksum of both. */
export function newApiKey(): string {
  const random = Array.from({ length: RANDOM_DIGITS }, () => DIGITS[randomInt(DIGITS.length)]).join('');
  return API_KEY_PREFIX + random + checksum(API_KEY_PREFIX + random);
}

/**
 * Returns whether a text begins like a key of this package and is cut off or mistyped. Keys that were made elsewhere
 * may have any form.
 */
export function isMistyped(text: string): boolean {
  return (
    text.startsWith(API_KEY_PREFIX) &&
    !(SHAPE.test(text) && checksum(text.slice(0, -CHECK_DIGITS)) === text.slice(-CHECK_DIGITS))
  );
}

/** Returns the CRC-32 in base 62. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECK_DIGITS; i += 1) {
    digits = DIGITS[rest % DIGITS.length] + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  return digits;
}
