/**
 * Replaces `tr46` in `whatwg-url`: international domain names without that package's tables, which are larger than the
 * rest of the component. Letters are lowered and composed by the language. Names that only the tables would refuse are
 * accepted.
 */
import { toASCII as toPunycode, toUnicode as fromPunycode } from 'punycode/punycode.es6.js';

const mapped = (domain: string): string =>
  domain
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFC')
    .replaceAll(/[\u3002\uff0e\uff61]/g, '.')
    .replaceAll('\u00ad', '');

/** Returns the name for the look-up, or null when it is invalid. */
export function toASCII(domain: string): string | null {
  try {
    return toPunycode(mapped(domain));
  } catch {
    return null;
  }
}

export function toUnicode(domain: string): { domain: string; error: boolean } {
  try {
    return { domain: fromPunycode(mapped(domain)), error: false };
  } catch {
    return { domain, error: true };
  }
}
