import { type CborValue, MalformedError } from './cbor.ts';

/** Says whether a value has a type. */
export type TypeCheck = (value: CborValue | undefined) => boolean;

/** Checks of a function's arguments and of its result. */
export interface FunctionChecks {
  readonly areArguments: (values: readonly CborValue[]) => boolean;
  readonly isResult: TypeCheck;
}

/**
 * Returns the checks of a function's type in the text form of `wit/generated/types.json`. Values have the form in which
 * the sandbox writes them. Throws for a text that is no type.
 */
export function functionChecks(text: string): FunctionChecks {
  const reader = new TypeText(text);
  const checks = reader.func();
  reader.end();
  return checks;
}

const bits = (size: number, signed: boolean): TypeCheck => {
  const least = signed ? -(2n ** BigInt(size - 1)) : 0n;
  const most = 2n ** BigInt(signed ? size - 1 : size) - 1n;
  const [least53, most53] = [Number(least), Number(most)];
  return (value) =>
    typeof value === 'number'
      ? Number.isSafeInteger(value) && value >= least53 && value <= most53
      : typeof value === 'bigint' && value >= least && value <= most;
};

const primitives: Readonly<Record<string, TypeCheck>> = {
  bool: (value) => typeof value === 'boolean',
  s8: bits(8, true),
  u8: bits(8, false),
  s16: bits(16, true),
  u16: bits(16, false),
  s32: bits(32, true),
  u32: bits(32, false),
  s64: bits(64, true),
  u64: bits(64, false),
  f32: (value) => typeof value === 'number',
  f64: (value) => typeof value === 'number',
  char: (value) => typeof value === 'string' && [...value].length === 1,
  string: (value) => typeof value === 'string',
};

const isList = (value: CborValue | undefined): value is readonly CborValue[] => Array.isArray(value);
const isRecord = (value: CborValue | undefined): value is { readonly [name: string]: CborValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/** A recursive descent over the text of a type. */
class TypeText {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  func(): FunctionChecks {
    this.#expect('func(');
    const params = this.#until(')', () => this.#field()[1]);
    const result = this.#has(' -> ') ? this.#type() : (value: CborValue | undefined) => value === null;
    return {
      areArguments: (values) => values.length === params.length && params.every((check, n) => check(values[n])),
      isResult: result,
    };
  }

  end(): void {
    if (this.#at !== this.#text.length) throw this.#wrong();
  }

  #type(): TypeCheck {
    const name = this.#name();
    const primitive = Object.hasOwn(primitives, name) ? primitives[name] : undefined;
    if (primitive) return primitive;
    switch (name) {
      case 'list':
        return this.#list();
      case 'option': {
        const [of] = this.#within();
        return (value) => value === null || of!(value);
      }
      case 'tuple': {
        const parts = this.#within();
        return (value) => isList(value) && value.length === parts.length && parts.every((is, n) => is(value[n]));
      }
      case 'result': {
        const [ok, err] = this.#within();
        return (value) => {
          const [entry, ...more] = isRecord(value) ? Object.entries(value) : [];
          if (!entry || more.length > 0) return false;
          return entry[0] === 'ok' ? ok!(entry[1]) : entry[0] === 'err' && err!(entry[1]);
        };
      }
      case 'own':
      case 'borrow': {
        this.#expect('<');
        this.#at = this.#text.indexOf('>', this.#at) + 1;
        return primitives['u32']!;
      }
      default:
        return this.#named(name);
    }
  }

  #list(): TypeCheck {
    if (this.#has('<u8>')) return (value) => value instanceof Uint8Array;
    const [of] = this.#within();
    return (value) => isList(value) && value.every((item) => of!(item));
  }

  #named(kind: string): TypeCheck {
    this.#expect('{');
    switch (kind) {
      case 'record': {
        const fields = this.#until('}', () => this.#field());
        return (value) =>
          isRecord(value) &&
          Object.keys(value).length === fields.length &&
          fields.every(([name, is]) => Object.hasOwn(value, name) && is(value[name]));
      }
      case 'variant': {
        const cases = new Map(this.#until('}', () => this.#case()));
        return (value) => {
          if (!isRecord(value) || typeof value['tag'] !== 'string' || !cases.has(value['tag'])) return false;
          const is = cases.get(value['tag']);
          return Object.keys(value).length === (is ? 2 : 1) && (!is || is(value['val']));
        };
      }
      case 'enum': {
        const names = new Set(this.#until('}', () => this.#name()));
        return (value) => typeof value === 'string' && names.has(value);
      }
      case 'flags': {
        const names = new Set(this.#until('}', () => this.#name()));
        return (value) =>
          isList(value) &&
          new Set(value).size === value.length &&
          value.every((item) => typeof item === 'string' && names.has(item));
      }
      default:
        throw this.#wrong();
    }
  }

  #field(): readonly [name: string, is: TypeCheck] {
    const name = this.#name();
    this.#expect(': ');
    return [name, this.#type()];
  }

  #case(): readonly [name: string, is: TypeCheck | undefined] {
    const name = this.#name();
    if (!this.#has('(')) return [name, undefined];
    const is = this.#type();
    this.#expect(')');
    return [name, is];
  }

  /** The types between `<` and `>`; `_` stands for none, which is null. */
  #within(): readonly TypeCheck[] {
    this.#expect('<');
    return this.#until('>', () => (this.#has('_') ? (value) => value === null : this.#type()));
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
