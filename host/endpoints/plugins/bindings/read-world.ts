/** A type of WIT, such as `option<list<u8>>`; a name of the world stands for itself. */
export interface WitType {
  readonly name: string;
  readonly of: readonly WitType[];
}

/** A field of a record, or a parameter of a function. */
export interface WitField {
  readonly name: string;
  readonly type: WitType;
  readonly docs: readonly string[];
}

export interface WitFunction {
  readonly name: string;
  readonly docs: readonly string[];
  /** The resource that it belongs to. Undefined for a function of the interface itself. */
  readonly resource: string | undefined;
  readonly isStatic: boolean;
  readonly params: readonly WitField[];
  /** The type of the value. Undefined when the function returns nothing. */
  readonly value: WitType | undefined;
  /** Whether it returns a `result`. Such a function asks the host, and the guest waits for the answer. */
  readonly canFail: boolean;
}

/** A case of an enum or of a variant. Only a case of a variant may have a value. */
export interface WitCase {
  readonly name: string;
  readonly type: WitType | undefined;
  readonly docs: readonly string[];
}

/** A type that an interface defines. */
export type WitDefinition = { readonly name: string; readonly docs: readonly string[] } & (
  | { readonly kind: 'record'; readonly fields: readonly WitField[] }
  | { readonly kind: 'enum'; readonly cases: readonly WitCase[] }
  | { readonly kind: 'variant'; readonly cases: readonly WitCase[] }
  | { readonly kind: 'alias'; readonly type: WitType }
  | { readonly kind: 'resource' }
);

export interface WitInterface {
  readonly name: string;
  /** Names of types that it takes from other interfaces, by interface. */
  readonly uses: readonly (readonly [from: string, names: readonly string[]])[];
  readonly definitions: readonly WitDefinition[];
  readonly functions: readonly WitFunction[];
}

const token = /\/\/\/[^\n]*|\/\/[^\n]*|->|%?[a-zA-Z_][\w-]*|\S/g;

/**
 * Reads the interfaces of a WIT file. It knows the parts of WIT that `wit/world.wit` uses, and throws at any other
 * part. jco, which reads the same file, checks that the file is valid.
 */
export function readWorld(wit: string): readonly WitInterface[] {
  const tokens = (wit.match(token) ?? []).filter((text) => !/^\/\/(?!\/)/.test(text));
  let at = 0;
  let docs: string[] = [];

  const peek = (): string => {
    for (; tokens[at]?.startsWith('///'); at++) docs.push(tokens[at]!.slice(3).trim());
    return tokens[at] ?? '';
  };
  const next = (): string => {
    const text = peek();
    at++;
    return text;
  };
  const takeDocs = (): string[] => {
    peek();
    const taken = docs;
    docs = [];
    return taken;
  };
  const has = (text: string): boolean => peek() === text && next() === text;
  const expect = (text: string): void => {
    const found = next();
    if (found !== text) throw new Error(`expected "${text}" in the WIT file, got "${found}"`);
  };
  const name = (): string => {
    const found = next();
    if (!/^%?\w/.test(found)) throw new Error(`expected a name in the WIT file, got "${found}"`);
    return found.replace('%', '');
  };
  const listUntil = <T>(end: string, item: () => T): T[] => {
    const items: T[] = [];
    while (!has(end)) {
      items.push(item());
      if (!has(',') && peek() !== end) throw new Error(`expected "," or "${end}" in the WIT file, got "${peek()}"`);
    }
    return items;
  };
  const type = (): WitType => ({ name: name(), of: has('<') ? listUntil('>', type) : [] });
  const field = (): WitField => {
    const own = { docs: takeDocs(), name: name() };
    expect(':');
    return { ...own, type: type() };
  };
  const caseWithout = (): WitCase => ({ docs: takeDocs(), name: name(), type: undefined });
  const caseWith = (): WitCase => {
    const own = { docs: takeDocs(), name: name() };
    if (!has('(')) return { ...own, type: undefined };
    const value = type();
    expect(')');
    return { ...own, type: value };
  };
  /** What follows the name of a function. */
  const signature = (called: string, resource: string | undefined, own: readonly string[]): WitFunction => {
    expect(':');
    const isStatic = has('static');
    expect('func');
    expect('(');
    const params = listUntil(')', field);
    const returned = has('->') ? type() : undefined;
    expect(';');
    const canFail = returned?.name === 'result';
    const value = canFail ? returned.of[0] : returned;
    return {
      ...{ name: called, docs: own, resource, isStatic, params, canFail },
      value: value?.name === '_' ? undefined : value,
    };
  };
  const definition = (kind: string, own: readonly string[], functions: WitFunction[]): WitDefinition => {
    const called = { name: name(), docs: own };
    if (kind === 'type') {
      expect('=');
      const alias = { ...called, kind: 'alias', type: type() } as const;
      expect(';');
      return alias;
    }
    if (kind === 'resource' && has(';')) return { ...called, kind };
    expect('{');
    if (kind === 'record') return { ...called, kind, fields: listUntil('}', field) };
    if (kind === 'enum') return { ...called, kind, cases: listUntil('}', caseWithout) };
    if (kind === 'variant') return { ...called, kind, cases: listUntil('}', caseWith) };
    while (!has('}')) {
      const methodDocs = takeDocs();
      functions.push(signature(name(), called.name, methodDocs));
    }
    return { ...called, kind: 'resource' };
  };
  const readInterface = (): WitInterface => {
    const read = {
      name: name(),
      uses: [] as [string, string[]][],
      definitions: [] as WitDefinition[],
      functions: [] as WitFunction[],
    };
    expect('{');
    while (!has('}')) {
      const own = takeDocs();
      const word = name();
      if (peek() === ':') read.functions.push(signature(word, undefined, own));
      else if (word === 'use') {
        const from = name();
        expect('.');
        expect('{');
        read.uses.push([from, listUntil('}', name)]);
        expect(';');
      } else if (['type', 'record', 'enum', 'variant', 'resource'].includes(word))
        read.definitions.push(definition(word, own, read.functions));
      else throw new Error(`cannot read "${word}" in the WIT file`);
    }
    return read;
  };

  const skipTo = (end: string): void => {
    while (peek() !== '' && next() !== end);
  };

  const interfaces: WitInterface[] = [];
  while (peek() !== '') {
    docs = [];
    const word = next();
    if (word === 'interface') interfaces.push(readInterface());
    else if (word === 'package') skipTo(';');
    else if (word === 'world') skipTo('}');
    else throw new Error(`cannot read "${word}" in the WIT file`);
  }
  return interfaces;
}
