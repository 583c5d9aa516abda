import { choice, literal, repeated, sequence } from './gbnf.ts';

/** An end of a range of numbers. */
export interface Bound {
  readonly value: number;
  readonly isExclusive: boolean;
}

/** Digits that a number of JavaScript keeps exactly. Numbers with more could be rounded onto an excluded bound. */
const EXACT_DIGITS = 15;
const LARGEST = 10 ** EXACT_DIGITS - 1;

const NINES = (digits: number): string => '9'.repeat(digits);
const ZEROS = (digits: number): string => '0'.repeat(digits);
const someDigits = (min: number, max: number): string => (max <= 0 ? '' : `[0-9]{${min},${max}}`);
const digitFrom = (first: number, last: number): string =>
  first === last ? literal(String(first)) : `[${first}-${last}]`;

/** A range of numbers that are not negative, with decimal ends; `high` undefined: without an end. */
interface Range {
  readonly low: Decimal;
  readonly high: Decimal;
}

interface Decimal {
  readonly whole: number;
  /** The digits after the point, without zeros at their end. */
  readonly fraction: string;
  readonly isExclusive: boolean;
}

/** Returns the numbers between two bounds, or the whole ones, as a part of a grammar; undefined if there is none. */
export function numbersBetween(min: Bound | undefined, max: Bound | undefined, isInteger: boolean): string | undefined {
  const low = min && -LARGEST - 1 < min.value ? min : undefined;
  const high = max && max.value < LARGEST + 1 ? max : undefined;
  if ((low && low.value > LARGEST) || (high && high.value < -LARGEST)) return undefined;
  const zero: Bound = { value: 0, isExclusive: false };
  const parts: (string | undefined)[] = [];
  if (!high || high.value >= 0)
    parts.push(upTo(low && low.value > 0 ? low : low?.value === 0 ? low : zero, high, isInteger));
  if (!low || low.value < 0) {
    const nearest = high && high.value <= 0 ? negated(high) : zero;
    const below = upTo(nearest, low && negated(low), isInteger);
    parts.push(below === undefined ? undefined : sequence('"-"', below));
  }
  const possible = parts.filter((part) => part !== undefined);
  return possible.length === 0 ? undefined : choice(possible);
}

const negated = ({ value, isExclusive }: Bound): Bound => ({ value: -value, isExclusive });

/** Returns the numbers of a range that is not negative. */
function upTo(low: Bound, high: Bound | undefined, isInteger: boolean): string | undefined {
  if (isInteger) {
    const first = Math.ceil(low.value) + (low.isExclusive && Number.isInteger(low.value) ? 1 : 0);
    const last = high ? Math.floor(high.value) - (high.isExclusive && Number.isInteger(high.value) ? 1 : 0) : LARGEST;
    return first > last ? undefined : wholesBetween(first, last);
  }
  const isEmpty =
    high && (high.value < low.value || (high.value === low.value && (high.isExclusive || low.isExclusive)));
  if (isEmpty) return undefined;
  const top: Decimal = high ? decimal(high) : { whole: LARGEST, fraction: '', isExclusive: false };
  const decimals = EXACT_DIGITS - String(high ? top.whole : decimal(low).whole).length;
  const range = { low: shortened(decimal(low), decimals, true), high: shortened(top, decimals, false) };
  return isOrdered(range) ? decimalsBetween(range, decimals) : undefined;
}

function decimal({ value, isExclusive }: Bound): Decimal {
  const [whole = '0', fraction = ''] = plainDigits(value).split('.');
  return { whole: Number(whole), fraction: fraction.replace(/0+$/, ''), isExclusive };
}

/** Returns an end of a range with at most `decimals` decimal places. It is rounded into the range. */
function shortened(end: Decimal, decimals: number, isLow: boolean): Decimal {
  if (end.fraction.length <= decimals) return end;
  const unit = 10n ** BigInt(decimals);
  const digits = BigInt(end.whole) * unit + BigInt(end.fraction.slice(0, decimals) || '0') + (isLow ? 1n : 0n);
  const fraction = String(digits % unit)
    .padStart(decimals, '0')
    .replace(/0+$/, '');
  return { whole: Number(digits / unit), fraction: decimals === 0 ? '' : fraction, isExclusive: false };
}

/** Returns a number without an exponent. */
function plainDigits(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  const [mantissa = '', exponent = ''] = text.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const shift = Number(exponent);
  if (shift < 0) return `0.${ZEROS(-shift - whole.length)}${whole}${fraction}`;
  return (whole + fraction).padEnd(shift + whole.length, '0');
}

/** Returns the whole numbers from `first` to `last`, which are not negative. */
function wholesBetween(first: number, last: number): string {
  const options: string[] = [];
  for (let length = String(first).length; length <= String(last).length; length += 1) {
    const least = Math.max(first, length === 1 ? 0 : 10 ** (length - 1));
    const most = Math.min(last, 10 ** length - 1);
    options.push(digitsBetween(String(least), String(most)));
  }
  return choice(options);
}

/** Returns the texts of digits between two of the same length. */
function digitsBetween(low: string, high: string): string {
  if (low === high) return low === '' ? '' : literal(low);
  const n = low.length;
  if (low === ZEROS(n) && high === NINES(n)) return someDigits(n, n);
  const [first, last] = [Number(low[0]), Number(high[0])];
  if (first === last) return sequence(literal(low[0]!), digitsBetween(low.slice(1), high.slice(1)));
  const startsWhole = low.slice(1) === ZEROS(n - 1);
  const endsWhole = high.slice(1) === NINES(n - 1);
  const from = first + (startsWhole ? 0 : 1);
  const to = last - (endsWhole ? 0 : 1);
  const options: string[] = [];
  if (!startsWhole) options.push(sequence(literal(low[0]!), digitsBetween(low.slice(1), NINES(n - 1))));
  if (from <= to) options.push(sequence(digitFrom(from, to), someDigits(n - 1, n - 1)));
  if (!endsWhole) options.push(sequence(literal(high[0]!), digitsBetween(ZEROS(n - 1), high.slice(1))));
  return choice(options);
}

function isOrdered({ low, high }: Range): boolean {
  return low.whole < high.whole || (low.whole === high.whole && low.fraction <= high.fraction);
}

function decimalsBetween({ low, high }: Range, decimals: number): string | undefined {
  const options: string[] = [];
  const add = (whole: number, fraction: string | undefined): void => {
    if (fraction !== undefined) options.push(sequence(literal(String(whole)), fraction));
  };
  if (low.whole === high.whole) {
    add(low.whole, fractionBetween(low, high, decimals));
  } else {
    add(low.whole, fractionBetween(low, undefined, decimals));
    if (low.whole + 1 <= high.whole - 1)
      options.push(sequence(wholesBetween(low.whole + 1, high.whole - 1), anyFraction(decimals)));
    add(high.whole, fractionBetween({ whole: 0, fraction: '', isExclusive: false }, high, decimals));
  }
  return options.length === 0 ? undefined : choice(options);
}

const anyFraction = (decimals: number): string => (decimals > 0 ? `("." ${someDigits(1, decimals)})?` : '');

/** Returns the fractions between two, with their point; an absent one is zero. Undefined: there is none. */
function fractionBetween(low: Decimal, high: Decimal | undefined, decimals: number): string | undefined {
  const isZero = low.fraction === '' && !low.isExclusive && (!high || high.fraction !== '' || !high.isExclusive);
  if (isZero && !high) return anyFraction(decimals);
  const digits = digitsFrom(low, high, decimals, true);
  if (digits === undefined) return isZero ? '' : undefined;
  const fraction = sequence('"."', digits);
  return isZero ? repeated(fraction, 0, 1) : fraction;
}

/**
 * Returns the digits of a fraction between two, at most `decimals`; undefined if there are none. No digit is a fraction
 * too, unless it is the first one.
 */
function digitsFrom(low: Decimal, high: Decimal | undefined, decimals: number, isFirst: boolean): string | undefined {
  if (decimals < Math.max(low.fraction.length, high?.fraction.length ?? 0)) return undefined;
  const mayEnd =
    !isFirst && low.fraction === '' && !low.isExclusive && (!high || high.fraction !== '' || !high.isExclusive);
  if (decimals === 0) return mayEnd ? '' : undefined;
  if (low.fraction === '' && !low.isExclusive && !high) return someDigits(isFirst ? 1 : 0, decimals);
  const first = Number(low.fraction[0] ?? '0');
  const last = Number(high ? (high.fraction[0] ?? '0') : '9');
  const rest = (decimalPart: Decimal): Decimal => ({ ...decimalPart, fraction: decimalPart.fraction.slice(1) });
  const options: string[] = [];
  const add = (digit: number, more: string | undefined): void => {
    if (more !== undefined) options.push(sequence(literal(String(digit)), more));
  };
  const ZERO: Decimal = { whole: 0, fraction: '', isExclusive: false };
  if (high && first === last) {
    add(first, digitsFrom(rest(low), rest(high), decimals - 1, false));
  } else {
    add(first, digitsFrom(rest(low), undefined, decimals - 1, false));
    const to = high ? last - 1 : 9;
    if (first + 1 <= to) options.push(sequence(digitFrom(first + 1, to), someDigits(0, decimals - 1)));
    if (high && last > first) add(last, digitsFrom(ZERO, rest(high), decimals - 1, false));
  }
  if (options.length === 0) return mayEnd ? '' : undefined;
  return mayEnd ? repeated(choice(options), 0, 1) : choice(options);
}
