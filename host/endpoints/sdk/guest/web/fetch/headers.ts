/** `Headers` (Fetch standard, 5.1), in components whose code names it or `fetch`. */

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const AROUND = /^[\t\n\r ]+|[\t\n\r ]+$/g;
// oxlint-disable-next-line no-control-regex -- these are what a value cannot have
const IMPOSSIBLE = /[\0\r\n]|[^\0-\xff]/;

export type HeadersInit = Headers | Iterable<Iterable<string>> | Readonly<Record<string, string>>;

export class Headers implements Iterable<[string, string]> {
  /** Names in lower case with all values, in the order in which they were added. */
  readonly #values = new Map<string, string[]>();

  constructor(init?: HeadersInit) {
    if (init === undefined) return;
    if (typeof init !== 'object' || init === null) throw new TypeError('Headers needs an object or a list of pairs');
    for (const pair of Symbol.iterator in init ? init : Object.entries(init)) {
      const all = [...pair];
      if (all.length !== 2) throw new TypeError('Headers needs pairs of a name and a value');
      this.append(...(all as [string, string]));
    }
  }

  get [Symbol.toStringTag](): string {
    return 'Headers';
  }

  append(name: string, value: string): void {
    const [key, text] = [keyOf(name), valueOf(name, value)];
    const known = this.#values.get(key);
    if (known) known.push(text);
    else this.#values.set(key, [text]);
  }

  set(name: string, value: string): void {
    this.#values.set(keyOf(name), [valueOf(name, value)]);
  }

  delete(name: string): void {
    this.#values.delete(keyOf(name));
  }

  get(name: string): string | null {
    return this.#values.get(keyOf(name))?.join(', ') ?? null;
  }

  getSetCookie(): string[] {
    return [...(this.#values.get('set-cookie') ?? [])];
  }

  has(name: string): boolean {
    return this.#values.has(keyOf(name));
  }

  forEach(call: (value: string, name: string, headers: Headers) => void, self?: unknown): void {
    for (const [name, value] of this) call.call(self, value, name, this);
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of [...this.#values.keys()].toSorted()) {
      const values = this.#values.get(name);
      if (!values) continue; // it was deleted meanwhile
      if (name === 'set-cookie') for (const value of values) yield [name, value];
      else yield [name, values.join(', ')];
    }
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name;
  }

  *values(): IterableIterator<string> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

function keyOf(name: string): string {
  const text = String(name);
  if (!TOKEN.test(text)) throw new TypeError(`${JSON.stringify(text)} is no name of a header`);
  return text.toLowerCase();
}

function valueOf(name: string, value: string): string {
  const text = String(value).replace(AROUND, '');
  if (IMPOSSIBLE.test(text))
    throw new TypeError(`the value of the header ${name} has characters that no header can have`);
  return text;
}
