import { isAbsolute, join, relative, sep } from 'node:path';
import type { RolldownMagicString } from 'rolldown';
import { packageRoot } from '../../../base/core/package-root.ts';
import { type DefinitionCall, type Definitions, definitionsIn } from './definitions.ts';

/**
 * What the SDK knows about the schemas of an endpoint (`EndpointFacts` in `sdk/guest/described.ts`), by the call of
 * `defineEndpoint`: the file in the plugin's folder, and the number of the call in it.
 */
export type FactsByCall = Readonly<Record<string, object>>;

const guest = join(packageRoot, 'bundle', 'host', 'endpoints', 'sdk', 'guest');
const PREFIX = '\0aana-endpoint:';
const ZOD_DEFAULT = /(?<=[{,]\s*)get defaultValue\(\) \{\s*return typeof defaultValue === "function"/g;

/**
 * Replaces calls of `defineEndpoint` in a bundle of a plugin. A first bundle is evaluated to learn which schemas data
 * express. In the second one these calls get the data, and the schemas are left out. The bundler then leaves out zod
 * where nothing else uses it. A call in another form, such as in a function of the author, stays as it is.
 */
export class DefinedEndpoints {
  readonly #dir: string;
  readonly #facts: FactsByCall | undefined;
  #calls = 0;

  /** @param facts what the first bundle has told. Absent for the first bundle itself. */
  constructor(dir: string, facts?: FactsByCall) {
    this.#dir = dir;
    this.#facts = facts;
  }

  /** The number of calls that were found. */
  get calls(): number {
    return this.#calls;
  }

  /** For the hook `resolveId`. */
  resolve(source: string): string | undefined {
    return source.startsWith(PREFIX) ? source : undefined;
  }

  /** For the hook `load`: the module whose `define` stands in for one call of `defineEndpoint`. */
  load(id: string): string | undefined {
    if (!id.startsWith(PREFIX)) return undefined;
    const call = id.slice(PREFIX.length);
    const from = (file: string): string => JSON.stringify(join(guest, file));
    return this.#facts
      ? `import { describedBy } from ${from('described.js')};
         export const define = describedBy(${JSON.stringify(this.#facts[call])});`
      : `import { learn } from ${from('learned.js')};
         export const define = (definition) => learn(${JSON.stringify(call)}, definition);`;
  }

  /** For the hook `transform`. Returns undefined for a file without definitions. */
  transform(
    code: string,
    id: string,
    meta: { readonly ast?: object | undefined; readonly magicString?: RolldownMagicString | undefined },
  ): RolldownMagicString | undefined {
    if (!this.#facts && /[\\/]zod[\\/]v4[\\/]/.test(id)) return withComputedDefaults(code, meta);
    const file = relative(this.#dir, id).split(sep).join('/');
    if (!isAbsolute(id) || file.startsWith('../') || /(^|\/)node_modules\//.test(file)) return undefined;
    if (!/\bzod\b|aana-host\/plugin/.test(code)) return undefined;
    const { ast, magicString } = meta; // made when they are read
    if (!ast || !magicString) return undefined;
    const definitions = definitionsIn(ast);
    const named = definitions.calls.map((call, n) => ({ ...call, name: `${file}#${n}` }));
    const chosen = named.filter(({ name }) => !this.#facts || this.#facts[name]);
    this.#calls += chosen.length;
    for (const [n, { callee, run, name }] of chosen.entries()) {
      magicString.update(callee.start, callee.end, `aanaDefine${n}`);
      // Nothing runs while it learns. Without the functions, the same definitions give the same bundle.
      if (!this.#facts && run) magicString.update(run.start, run.end, 'run() {}');
      magicString.append(`\nimport { define as aanaDefine${n} } from ${JSON.stringify(PREFIX + name)};`);
    }
    if (this.#facts) withoutSchemas(magicString, definitions, chosen);
    return magicString;
  }
}

/** Removes schemas that only describe, and marks the rest so that the bundler leaves out what nothing uses. */
function withoutSchemas(
  code: RolldownMagicString,
  { spread, pure }: Definitions,
  chosen: readonly DefinitionCall[],
): void {
  const described = [...spread].filter(
    ([name, { uses }]) => chosen.flatMap(({ spreads }) => spreads).filter((one) => one === name).length === uses,
  );
  for (const { start, end } of [...chosen, ...described.map(([, constant]) => constant)].flatMap((one) => one.schemas))
    code.remove(start, end);
  for (const { start, end } of pure) {
    code.appendLeft(start, '/* @__PURE__ */ (() => (');
    code.appendRight(end, '))()');
  }
}

/** Makes the definitions of zod say whether a function computes a default. */
function withComputedDefaults(
  code: string,
  { magicString }: { readonly magicString?: RolldownMagicString | undefined },
): RolldownMagicString | undefined {
  if (!code.includes('get defaultValue()')) return undefined;
  const places = [...code.matchAll(ZOD_DEFAULT)];
  for (const { index } of places) magicString?.appendLeft(index, 'isComputed: typeof defaultValue === "function", ');
  return places.length > 0 ? magicString : undefined;
}
