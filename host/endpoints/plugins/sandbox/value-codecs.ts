import { type CborValue, MalformedError } from './cbor.ts';

/**
 * Translates values of one type between the form of the sandbox and that of the host. In the host's form, members of
 * records are in camel case, and what is absent is undefined. A `result` is `{ ok }` or `{ err }`, a resource is its
 * number, and whole numbers of 64 bits are bigints.
 */
export interface Codec {
  /** Returns the host's form. Throws `MalformedError` for a value that the type does not have. */
  decode(value: CborValue | undefined): unknown;
  /**
   * Returns the form of the sandbox, which checks it against its own type. A resource may be an object with its number
   * as `handle`.
   */
  encode(value: unknown): CborValue;
}

/** Codecs of a function's parameters, in order, and of its result. */
export interface FunctionCodecs {
  readonly params: readonly Codec[];
  readonly result: Codec;
}

/**
 * Returns the codecs of a function's type in the text form of `wit/generated/types.json`. Throws for a text that is no
 * type.
 */
export function functionCodecs(text: string): FunctionCodecs {
  const reader = new TypeText(text);
  const codecs = reader.func();
  reader.end();
  return codecs;
}

type Fields = { readonly [name: string]: CborValue };

const otherType = (): never => {
  throw new MalformedError('a value has another type');
};

/** A type whose values have one form. */
function plain(is: (value: CborValue | undefined) => boolean): Codec {
  return {
    decode: (value) => (is(value) ? value : otherType()),
    encode: (value) => value as CborValue,
  };
}

const whole = (size: number, signed: boolean): Codec => {
  const [least, most] = signed ? [-(2 ** (size - 1)), 2 ** (size - 1) - 1] : [0, 2 ** size - 1];
  return plain((value) => typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most);
};

const whole64 = (signed: boolean): Codec => {
  const [least, most] = signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
  return {
    decode(value) {
      if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isSafeInteger(value))) return otherType();
      const number = BigInt(value);
      return number >= least && number <= most ? number : otherType();
    },
    encode: (value) => value as CborValue,
  };
};

const u32 = whole(32, false);
const nothing: Codec = { decode: (value) => (value === null ? undefined : otherType()), encode: () => null };
const bytes = plain((value) => value instanceof Uint8Array);
const resource: Codec = {
  decode: u32.decode,
  encode: (value) => (typeof value === 'number' ? value : (value as { readonly handle: number }).handle),
};

const primitives: Readonly<Record<string, Codec>> = {
  bool: plain((value) => typeof value === 'boolean'),
  s8: whole(8, true),
  u8: whole(8, false),
  s16: whole(16, true),
  u16: whole(16, false),
  s32: whole(32, true),
  u32,
  s64: whole64(true),
  u64: whole64(false),
  f32: plain((value) => typeof value === 'number'),
  f64: plain((value) => typeof value === 'number'),
  char: plain((value) => typeof value === 'string' && [...value].length === 1),
  string: plain((value) => typeof value === 'string'),
};

const isList = (value: CborValue | undefined): value is readonly CborValue[] => Array.isArray(value);
const isRecord = (value: CborValue | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
const camelCase = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const listOf = (of: Codec): Codec => ({
  decode: (value) => (isList(value) ? value.map((item) => of.decode(item)) : otherType()),
  encode: (value) => Array.from(value as ArrayLike<unknown>, (item) => of.encode(item)),
});

const optionOf = (of: Codec): Codec => ({
  decode: (value) => (value === null ? undefined : of.decode(value)),
  encode: (value) => (value === undefined ? null : of.encode(value)),
});

const tupleOf = (parts: readonly Codec[]): Codec => ({
  decode: (value) =>
    isList(value) && value.length === parts.length ? parts.map((part, n) => part.decode(value[n])) : otherType(),
  encode: (value) => parts.map((part, n) => part.encode((value as readonly unknown[])[n])),
});

const resultOf = (ok: Codec, err: Codec): Codec => ({
  decode(value) {
    if (!isRecord(value) || Object.keys(value).length !== 1) return otherType();
    if (Object.hasOwn(value, 'ok')) return { ok: ok.decode(value['ok']) };
    return Object.hasOwn(value, 'err') ? { err: err.decode(value['err']) } : otherType();
  },
  encode(value) {
    const result = value as { readonly ok?: unknown; readonly err?: unknown };
    return 'err' in result ? { err: err.encode(result.err) } : { ok: ok.encode(result.ok) };
  },
});

function recordOf(fields: readonly (readonly [name: string, of: Codec])[]): Codec {
  const members = fields.map(([name, of]) => ({ name, member: camelCase(name), of }));
  return {
    decode(value) {
      if (!isRecord(value) || Object.keys(value).length !== members.length) return otherType();
      const decoded: Record<string, unknown> = {};
      for (const { name, member, of } of members)
        decoded[member] = Object.hasOwn(value, name) ? of.decode(value[name]) : otherType();
      return decoded;
    },
    encode(value) {
      const encoded: Record<string, CborValue> = {};
      for (const { name, member, of } of members)
        encoded[name] = of.encode((value as Readonly<Record<string, unknown>>)[member]);
      return encoded;
    },
  };
}

function variantOf(cases: ReadonlyMap<string, Codec | undefined>): Codec {
  return {
    decode(value) {
      if (!isRecord(value) || typeof value['tag'] !== 'string' || !cases.has(value['tag'])) return otherType();
      const { tag, val } = value;
      const of = cases.get(tag);
      if (Object.keys(value).length !== (of ? 2 : 1)) return otherType();
      return of ? { tag, val: of.decode(val) } : { tag };
    },
    encode(value) {
      const { tag, val } = value as { readonly tag: string; readonly val?: unknown };
      const of = cases.get(tag);
      return of ? { tag, val: of.encode(val) } : { tag };
    },
  };
}

/** A recursive descent over the text of a type. */
class TypeText {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  func(): FunctionCodecs {
    this.#expect('func(');
    const params = this.#until(')', () => this.#field()[1]);
    return { params, result: this.#has(' -> ') ? this.#type() : nothing };
  }

  end(): void {
    if (this.#at !== this.#text.length) throw this.#wrong();
  }

  #type(): Codec {
    const name = this.#name();
    const primitive = Object.hasOwn(primitives, name) ? primitives[name] : undefined;
    if (primitive) return primitive;
    switch (name) {
      case 'list':
        return this.#has('<u8>') ? bytes : listOf(this.#within()[0]!);
      case 'option':
        return optionOf(this.#within()[0]!);
      case 'tuple':
        return tupleOf(this.#within());
      case 'result': {
        const [ok, err] = this.#within();
        return resultOf(ok ?? nothing, err ?? nothing);
      }
      case 'own':
      case 'borrow':
        this.#expect('<');
        this.#at = this.#text.indexOf('>', this.#at) + 1;
        return resource;
      default:
        return this.#named(name);
    }
  }

  #named(kind: string): Codec {
    this.#expect('{');
    switch (kind) {
      case 'record':
        return recordOf(this.#until('}', () => this.#field()));
      case 'variant':
        return variantOf(new Map(this.#until('}', () => this.#case())));
      case 'enum': {
        const names = new Set(this.#until('}', () => this.#name()));
        return plain((value) => typeof value === 'string' && names.has(value));
      }
      case 'flags': {
        const names = new Set(this.#until('}', () => this.#name()));
        return plain(
          (value) =>
            isList(value) &&
            new Set(value).size === value.length &&
            value.every((item) => typeof item === 'string' && names.has(item)),
        );
      }
      default:
        throw this.#wrong();
    }
  }

  #field(): readonly [name: string, of: Codec] {
    const name = this.#name();
    this.#expect(': ');
    return [name, this.#type()];
  }

  #case(): readonly [name: string, of: Codec | undefined] {
    const name = this.#name();
    if (!this.#has('(')) return [name, undefined];
    const of = this.#type();
    this.#expect(')');
    return [name, of];
  }

  /** The types between `<` and `>`; `_` stands for none. */
  #within(): readonly Codec[] {
    this.#expect('<');
    return this.#until('>', () => (this.#has('_') ? nothing : this.#type()));
  }

  #until<T>(end: string, item: () => T): T[] {
    const items: T[] = [];
    while (!this.#has(end)) {
      if (items.length > 0) this.#expect(', ');
      items.push(item());
    }
    return items;
  }

  #name(): string {
    const name = /^[a-zA-Z][a-zA-Z0-9-]*/.exec(this.#text.slice(this.#at, this.#at + 256))?.[0];
    if (name === undefined) throw this.#wrong();
    this.#at += name.length;
    return name;
  }

  #has(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #expect(text: string): void {
    if (!this.#has(text)) throw this.#wrong();
  }

  #wrong(): MalformedError {
    return new MalformedError(`a type cannot be read at "${this.#text.slice(this.#at, this.#at + 40)}"`);
  }
}
