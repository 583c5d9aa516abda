/** Code of a bundle that loads code when it runs, or that waits at the top level. */
export interface LoadingCode {
  readonly kind: 'import()' | 'require()' | 'await' | 'for await';
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

/**
 * Returns the positions of `import()`, of `require()`, and of `await` outside of functions in a bundle's syntax tree.
 */
export function loadingCode(program: object): LoadingCode[] {
  const found: LoadingCode[] = [];
  const visit = (value: unknown, isTopLevel: boolean): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, isTopLevel);
    if (!isNode(value)) return;
    const kind = kindOf(value, isTopLevel);
    if (kind) found.push({ kind, offset: value.start, end: value.end });
    const isInside = isTopLevel && !functions.has(value.type);
    for (const member of Object.values(value)) if (typeof member === 'object') visit(member, isInside);
  };
  visit(program, true);
  return found.toSorted((a, b) => a.offset - b.offset);
}

function kindOf(node: Node, isTopLevel: boolean): LoadingCode['kind'] | undefined {
  if (node.type === 'ImportExpression') return 'import()';
  if (
    node.type === 'CallExpression' &&
    isNode(node['callee']) &&
    node['callee'].type === 'Identifier' &&
    requires.has(node['callee']['name'])
  )
    return 'require()';
  if (!isTopLevel) return undefined;
  if (node.type === 'AwaitExpression') return 'await';
  return node.type === 'ForOfStatement' && node['await'] === true ? 'for await' : undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
