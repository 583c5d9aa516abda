/**
 * A value that a pickle would make with a class or function. Nothing is called; only the name and arguments are kept.
 */
export interface PickledObject {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** A reference to data outside of the pickle. */
export interface PickledReference {
  readonly persistentId: unknown;
}

const MARK = Symbol('mark');

const text = (code: number): string => `0x${code.toString(16).padStart(2, '0')}`;

/**
 * Returns the value of a pickle of protocol 2, as PyTorch writes it. Dictionaries become maps, and objects of classes
 * become {@link PickledObject}. No code of the pickle runs. Throws `RangeError` for a truncated pickle and for
 * operations that checkpoints do not use.
 */
export function readPickle(data: Buffer): unknown {
  return new PickleReader(data).read();
}

class PickleReader {
  readonly #data: Buffer;
  #at = 0;
  readonly #stack: unknown[] = [];
  readonly #memo = new Map<number, unknown>();

  constructor(data: Buffer) {
    this.#data = data;
  }

  read(): unknown {
    for (;;) {
      const code = this.#byte();
      if (code === 0x2e) return this.#pop(); // STOP
      this.#apply(code);
    }
  }

  #apply(code: number): void {
    switch (String.fromCharCode(code)) {
      case '\x80': // PROTO
        if (this.#byte() > 2) throw new RangeError('the pickle has another protocol than 2');
        return;
      case '}':
      case '\x8f':
        return this.#push(new Map());
      case ']':
        return this.#push([]);
      case ')':
        return this.#push([]);
      case '(':
        return this.#push(MARK);
      case 'N':
        return this.#push(null);
      case '\x88':
        return this.#push(true);
      case '\x89':
        return this.#push(false);
      case 'K':
        return this.#push(this.#byte());
      case 'M':
        return this.#push(this.#take(2).readUInt16LE());
      case 'J':
        return this.#push(this.#take(4).readInt32LE());
      case 'G':
        return this.#push(this.#take(8).readDoubleBE());
      case '\x8a':
        return this.#push(longOf(this.#take(this.#byte())));
      case 'X':
        return this.#push(this.#take(this.#take(4).readUInt32LE()).toString('utf8'));
      case 'c': // GLOBAL, of which only the name is kept
        return this.#push(`${this.#line()}.${this.#line()}`);
      case 'q':
        return void this.#memo.set(this.#byte(), this.#top());
      case 'r':
        return void this.#memo.set(this.#take(4).readUInt32LE(), this.#top());
      case 'h':
        return this.#push(this.#remembered(this.#byte()));
      case 'j':
        return this.#push(this.#remembered(this.#take(4).readUInt32LE()));
      case 't':
        return this.#push(this.#popMarked());
      case '\x85':
        return this.#push([this.#pop()]);
      case '\x86':
        return this.#push(this.#popMany(2));
      case '\x87':
        return this.#push(this.#popMany(3));
      case 'u':
        return this.#setItems(this.#popMarked());
      case 's':
        return this.#setItems(this.#popMany(2));
      case 'e':
        return this.#append(this.#popMarked());
      case 'a':
        return this.#append(this.#popMany(1));
      case 'Q': // BINPERSID
        return this.#push({ persistentId: this.#pop() } satisfies PickledReference);
      case 'R': // REDUCE
      case '\x81': // NEWOBJ
        return this.#makeObject();
      case 'b': // BUILD sets the state of an object, which is not kept
        return void this.#pop();
      default:
        throw new RangeError(`the pickle has the operation ${text(code)}, which checkpoints do not use`);
    }
  }

  #makeObject(): void {
    const args = this.#pop();
    const name = this.#pop();
    if (typeof name !== 'string' || !Array.isArray(args)) throw new RangeError('the pickle calls something unnamed');
    this.#push(name === 'collections.OrderedDict' ? new Map() : ({ name, args } satisfies PickledObject));
  }

  #setItems(pairs: readonly unknown[]): void {
    const target = this.#top();
    if (!(target instanceof Map)) return; // an object of a class, whose content is not kept
    for (let at = 0; at + 1 < pairs.length; at += 2) target.set(pairs[at], pairs[at + 1]);
  }

  #append(values: readonly unknown[]): void {
    const target = this.#top();
    if (Array.isArray(target)) for (const value of values) target.push(value);
  }

  #remembered(key: number): unknown {
    if (!this.#memo.has(key)) throw new RangeError(`the pickle uses the value ${key} before it is made`);
    return this.#memo.get(key);
  }

  #push(value: unknown): void {
    this.#stack.push(value);
  }

  #top(): unknown {
    if (this.#stack.length === 0) throw new RangeError('the pickle takes a value that is not there');
    return this.#stack.at(-1);
  }

  #pop(): unknown {
    const value = this.#top();
    this.#stack.pop();
    return value;
  }

  #popMany(count: number): unknown[] {
    if (this.#stack.length < count) throw new RangeError('the pickle takes values that are not there');
    return this.#stack.splice(-count);
  }

  #popMarked(): unknown[] {
    const mark = this.#stack.lastIndexOf(MARK);
    if (mark < 0) throw new RangeError('the pickle ends a list that it did not begin');
    return this.#stack.splice(mark).slice(1);
  }

  #byte(): number {
    return this.#data.readUInt8(this.#at++); // throws past the end
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#data.length) throw new RangeError('the pickle is truncated');
    const bytes = this.#data.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  #line(): string {
    const end = this.#data.indexOf(0x0a, this.#at);
    if (end < 0) throw new RangeError('the pickle is truncated');
    const line = this.#data.toString('latin1', this.#at, end);
    this.#at = end + 1;
    return line;
  }
}

/** Returns a little-endian integer in two's complement. It is exact up to 2^53, which sizes and offsets are below. */
function longOf(bytes: Buffer): number {
  const unsigned = bytes.reduce((value, byte, at) => value + byte * 256 ** at, 0);
  return (bytes.at(-1) ?? 0) < 0x80 ? unsigned : unsigned - 256 ** bytes.length;
}
