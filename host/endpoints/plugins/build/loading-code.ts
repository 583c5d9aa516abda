/**
 * Code of a bundle that loads code when it runs, that waits at the top level, or what an ordinary `yield*` iterates.
 */
export interface LoadingCode {
  readonly kind: 'import()' | 'require()' | 'await' | 'for await' | 'await using' | 'yield*';
  readonly offset: number;
  readonly end: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const functions: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'StaticBlock',
  'PropertyDefinition',
]);
/** Names of `require`. The bundler uses the second one for modules that it could not resolve. */
const requires: ReadonlySet<unknown> = new Set(['require', '__require']);

/** Where code stands: outside of functions, in a generator that is not asynchronous, or in another function. */
type Place = 'top' | 'generator' | 'function';

/** Returns what a bundle's syntax tree has of such code, in its order. */
export function loadingCode(program: object): LoadingCode[] {
  const found: LoadingCode[] = [];
  const visit = (value: unknown, place: Place): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, place);
    if (!isNode(value)) return;
    const kind = kindOf(value, place);
    const code = kind === 'yield*' ? (value['argument'] as Node) : value;
    if (kind) found.push({ kind, offset: code.start, end: code.end });
    const inside = placeIn(value, place);
    for (const member of Object.values(value)) if (typeof member === 'object') visit(member, inside);
  };
  visit(program, 'top');
  return found.toSorted((a, b) => a.offset - b.offset);
}

function placeIn(node: Node, place: Place): Place {
  if (!functions.has(node.type)) return place;
  return node['generator'] === true && node['async'] !== true ? 'generator' : 'function';
}

function kindOf(node: Node, place: Place): LoadingCode['kind'] | undefined {
  if (node.type === 'ImportExpression') return 'import()';
  if (
    node.type === 'CallExpression' &&
    isNode(node['callee']) &&
    node['callee'].type === 'Identifier' &&
    requires.has(node['callee']['name'])
  )
    return 'require()';
  if (place === 'generator' && node.type === 'YieldExpression' && node['delegate'] === true) return 'yield*';
  if (place !== 'top') return undefined;
  if (node.type === 'AwaitExpression') return 'await';
  if (node.type === 'VariableDeclaration' && node['kind'] === 'await using') return 'await using';
  return node.type === 'ForOfStatement' && node['await'] === true ? 'for await' : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
