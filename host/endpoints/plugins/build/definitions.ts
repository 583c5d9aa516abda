/** A range of a source. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** A call of `defineEndpoint` with an object literal, outside of functions. */
export interface DefinitionCall {
  /** The name `defineEndpoint`, or its local name. */
  readonly callee: Range;
  /** Members `input` and `output` of the literal that only describe. They end before the next member. */
  readonly schemas: readonly Range[];
  /** Member `run`, if its value is a function or a name. */
  readonly run: Range | undefined;
  /** Names of constants that it spreads. */
  readonly spreads: readonly string[];
}

/** What a source defines with zod. */
export interface Definitions {
  readonly calls: readonly DefinitionCall[];
  /**
   * Constants whose only uses are spreads in calls: the number of their uses, and their members `input` and `output`.
   */
  readonly spread: ReadonlyMap<string, { readonly uses: number; readonly schemas: readonly Range[] }>;
  /** Values of constants that only make schemas, so they may be left out when nothing uses them. */
  readonly pure: readonly Range[];
}

interface Node extends Range {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Methods of zod that do more than make a schema, or that run code of the author. */
const effects = /parse|decode|encode|^(config|register|add|apply|clone|implement|install)/i;
/** Functions of the SDK that make schemas. */
const answers = new Set<unknown>(['answerBy', 'bytesAnswer', 'textAnswer']);
const wrappers = new Set(['ParenthesizedExpression', 'TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);

/** Finds the definitions in the syntax tree of a source. */
export function definitionsIn(program: object): Definitions {
  const { body } = program as { readonly body: readonly Node[] };
  const names = new Names(body);
  const constants = body.flatMap((statement) => constantsOf(statement));
  const calls: DefinitionCall[] = [];
  const pure: Range[] = [];
  const objects = new Map<string, Node>();
  for (const { name, value, isExported } of constants) {
    if (value.type === 'ObjectExpression' && !isExported && !isSelfish(value)) objects.set(name, value);
    if (!names.isPure(value)) continue;
    if (callsOutsideFunctions([value]).length > 0) pure.push(value);
    if (value.type === 'CallExpression') names.schemas.add(name);
  }
  for (const call of callsOutsideFunctions(body)) {
    const callee = call['callee'] as Node;
    const [literal, ...more] = call['arguments'] as readonly Node[];
    if (callee.type !== 'Identifier' || !names.define.has(callee['name'])) continue;
    if (literal?.type !== 'ObjectExpression' || more.length > 0) continue;
    calls.push({
      callee,
      schemas: isSelfish(literal) ? [] : schemaMembers(literal, names),
      run: pureMembers(literal, names, ['run'])[0]?.member,
      spreads: isSelfish(literal) ? [] : spreadsOf(literal),
    });
  }
  const spread = new Map(
    [...objects].flatMap(([name, value]) => {
      const uses = calls.reduce((sum, call) => sum + call.spreads.filter((one) => one === name).length, 0);
      const isElsewhere = count(body, (node) => node.type === 'Identifier' && node['name'] === name) !== uses + 1;
      return uses === 0 || isElsewhere ? [] : [[name, { uses, schemas: schemaMembers(value, names) }] as const];
    }),
  );
  return { calls, spread, pure };
}

/** Whether code of an object may read its other members. */
const isSelfish = (object: Node): boolean => some(object, ({ type }) => type === 'ThisExpression');

/** The names of a source that mean something to zod and the SDK. */
class Names {
  /** Local names of `defineEndpoint`. */
  readonly define = new Set<unknown>();
  /** Constants with schemas, and imports from the SDK that may be schemas. */
  readonly schemas = new Set<unknown>();
  /** Namespaces of zod, and functions that make schemas. */
  readonly #zod = new Set<unknown>();

  constructor(body: readonly Node[]) {
    for (const statement of body) {
      if (statement.type !== 'ImportDeclaration') continue;
      const source = String((statement['source'] as Node)['value']);
      for (const specifier of statement['specifiers'] as readonly Node[]) {
        const local = (specifier['local'] as Node)['name'];
        const imported = (specifier['imported'] as Node | undefined)?.['name'];
        const isZod = /^zod(\/(mini|v4|v4-mini|v4\/mini))?$/.test(source);
        if (isZod && !effects.test(String(imported))) this.#zod.add(local);
        if (source !== 'aana-host/plugin') continue;
        if (imported === 'defineEndpoint') this.define.add(local);
        else if (imported === 'z' || answers.has(imported)) this.#zod.add(local);
        else if (/^[A-Z]/.test(String(imported))) this.schemas.add(local);
      }
    }
  }

  /** Whether an expression only makes schemas and data. */
  isPure(node: Node): boolean {
    if (wrappers.has(node.type)) return this.isPure(node['expression'] as Node);
    switch (node.type) {
      case 'Literal':
      case 'Identifier':
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        return true;
      case 'TemplateLiteral':
        return (node['expressions'] as readonly Node[]).every(({ type }) => type === 'Literal');
      case 'UnaryExpression':
        return (node['argument'] as Node).type === 'Literal';
      case 'ArrayExpression':
        return (node['elements'] as readonly (Node | null)[]).every((one) => one !== null && this.isPure(one));
      case 'ObjectExpression':
        return (node['properties'] as readonly Node[]).every((one) => this.#isPureMember(one));
      case 'MemberExpression':
        return node['computed'] !== true && this.isPure(node['object'] as Node);
      case 'CallExpression':
        return this.#isPureCall(node);
      default:
        return false;
    }
  }

  #isPureMember(member: Node): boolean {
    if (member.type === 'SpreadElement') return this.isPure(member['argument'] as Node);
    return member['kind'] === 'init' && member['computed'] !== true && this.isPure(member['value'] as Node);
  }

  #isPureCall(call: Node): boolean {
    if (!(call['arguments'] as readonly Node[]).every((one) => this.isPure(one))) return false;
    const callee = call['callee'] as Node;
    if (callee.type === 'Identifier') return this.#zod.has(callee['name']) && !effects.test(String(callee['name']));
    if (callee.type !== 'MemberExpression' || callee['computed'] === true) return false;
    return !effects.test(String((callee['property'] as Node)['name'])) && this.#isSchema(callee['object'] as Node);
  }

  /** Whether an expression is a namespace of zod, or a schema that was made in this source or is the SDK's. */
  #isSchema(node: Node): boolean {
    if (node.type === 'Identifier') return this.#zod.has(node['name']) || this.schemas.has(node['name']);
    if (node.type === 'MemberExpression') return node['computed'] !== true && this.#isSchema(node['object'] as Node);
    return node.type === 'CallExpression' && this.#isPureCall(node);
  }
}

function constantsOf(statement: Node): { name: unknown & string; value: Node; isExported: boolean }[] {
  const isExported = statement.type === 'ExportNamedDeclaration';
  const declaration = isExported ? (statement['declaration'] as Node | null) : statement;
  if (declaration?.type !== 'VariableDeclaration' || declaration['kind'] !== 'const') return [];
  return (declaration['declarations'] as readonly Node[]).flatMap((one) => {
    const [id, value] = [one['id'] as Node, one['init'] as Node | null];
    return id.type === 'Identifier' && value ? [{ name: String(id['name']), value, isExported }] : [];
  });
}

/** Returns the members `input` and `output` that are pure, each with what follows it up to the next member. */
const schemaMembers = (literal: Node, names: Names): Range[] =>
  pureMembers(literal, names, ['input', 'output']).map(({ member, next }) => ({ start: member.start, end: next }));

/** Returns the pure members of these names, and where the next members begin. */
function pureMembers(literal: Node, names: Names, keys: readonly string[]): { member: Node; next: number }[] {
  const members = literal['properties'] as readonly Node[];
  return members.flatMap((member, n) => {
    if (member.type !== 'Property' || member['kind'] !== 'init' || member['computed'] === true) return [];
    const key = member['key'] as Node;
    if (!keys.includes(String(key['name'] ?? key['value'])) || !names.isPure(member['value'] as Node)) return [];
    return [{ member, next: members[n + 1]?.start ?? literal.end - 1 }];
  });
}

const spreadsOf = (literal: Node): string[] =>
  (literal['properties'] as readonly Node[]).flatMap((member) => {
    const argument = member['argument'] as Node | undefined;
    return member.type === 'SpreadElement' && argument?.type === 'Identifier' ? [String(argument['name'])] : [];
  });

const functions = /Function|^Class|^StaticBlock$|^(For|While|DoWhile|If|Switch|Try)/;

function callsOutsideFunctions(body: readonly Node[]): Node[] {
  const found: Node[] = [];
  visit(body, (node) => {
    if (node.type === 'CallExpression') found.push(node);
    return !functions.test(node.type);
  });
  return found;
}

const some = (value: unknown, is: (node: Node) => boolean): boolean => count(value, is) > 0;

function count(value: unknown, is: (node: Node) => boolean): number {
  let found = 0;
  visit(value, (node) => {
    if (is(node)) found++;
    return true;
  });
  return found;
}

/** Calls `enter` with each node, which says whether the nodes in it are visited. */
function visit(value: unknown, enter: (node: Node) => boolean): void {
  if (Array.isArray(value)) for (const each of value) visit(each, enter);
  else if (isNode(value) && enter(value))
    for (const member of Object.values(value)) if (typeof member === 'object') visit(member, enter);
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
