import { callName, camelCase, componentName, pascalCase, type TypeNames, typeScriptType } from './names.ts';
import type { WitDefinition, WitField, WitFunction, WitInterface } from './read-world.ts';

/** Functions of a resource that the host need not be asked for: their values cross together with a new handle. */
export function factsOf(world: readonly WitInterface[], resource: string): readonly WitFunction[] {
  return world.flatMap(({ functions }) => functions.filter((fn) => fn.resource === resource && !fn.canFail));
}

export function isResource(world: readonly WitInterface[], name: string): boolean {
  return world.some(({ definitions }) => definitions.some((each) => each.kind === 'resource' && each.name === name));
}

/** Types for a guest's view: a resource is an object. */
export function guestTypes(world: readonly WitInterface[], defined: TypeNames['defined'] = pascalCase): TypeNames {
  const isNumber = (name: string): boolean =>
    world.some(({ definitions }) =>
      definitions.some((each) => each.name === name && each.kind === 'alias' && each.type.name === 'f64'),
    );
  return { defined, resource: (name) => (isResource(world, name) ? pascalCase(name) : undefined), isNumber };
}

/** Types as they cross to the host: a resource is the number of its handle, a new one with its facts. */
function callTypes(world: readonly WitInterface[], isValue: boolean): TypeNames {
  const resource = (name: string): string | undefined => {
    if (!isResource(world, name)) return undefined;
    return isValue && factsOf(world, name).length > 0 ? `${pascalCase(name)}Handle` : 'number';
  };
  return { ...guestTypes(world), resource };
}

/** The types of one interface: its definitions, the interface as a guest sees it, and its calls. */
export function interfaceTypes(world: readonly WitInterface[], one: WitInterface): string {
  const calls = one.functions.filter(({ canFail }) => canFail);
  const body = [
    ...one.definitions.map((definition) => definitionType(world, one, definition)),
    ...(one.functions.length > 0 ? [guestInterface(world, one)] : []),
    ...(calls.length > 0 ? [callsInterface(world, one, calls)] : []),
  ].join('\n');
  const imports = one.uses.map(([from, names]) => {
    const used = names
      .flatMap((name) => [pascalCase(name), `${pascalCase(name)}Handle`])
      .filter((name) => new RegExp(`\\b${name}\\b`).test(body));
    return used.length > 0 ? `import type { ${used.join(', ')} } from './${from}.ts';\n` : '';
  });
  return `${imports.join('')}\n${body}`;
}

function definitionType(world: readonly WitInterface[], one: WitInterface, definition: WitDefinition): string {
  const head = `${docs(definition.docs)}export`;
  const name = pascalCase(definition.name);
  switch (definition.kind) {
    case 'alias':
      return `${head} type ${name} = ${typeScriptType(definition.type, guestTypes(world))};\n`;
    case 'enum':
      return `${head} type ${name} = ${definition.cases.map((each) => `'${each.name}'`).join(' | ')};\n`;
    case 'variant': {
      const cases = definition.cases.map(({ name: tag, type, docs: own }) => {
        const value = type ? `; readonly val: ${typeScriptType(type, guestTypes(world))}` : '';
        return `${docs(own, '  ')}  | { readonly tag: '${tag}'${value} }\n`;
      });
      return `${head} type ${name} =\n${cases.join('').trimEnd()};\n`;
    }
    case 'record':
      return `${head} interface ${name} {\n${definition.fields.map((field) => member(world, field)).join('')}}\n`;
    case 'resource': {
      const methods = one.functions.filter((fn) => fn.resource === definition.name && !fn.isStatic);
      const body = methods.map((fn) => method(world, fn)).join('');
      const type = `${head} interface ${name} extends Disposable {\n${body}}\n`;
      const facts = factsOf(world, definition.name);
      if (facts.length === 0) return type;
      const members = facts.map((fn) => `  readonly ${camelCase(fn.name)}: ${valueType(fn, guestTypes(world))};\n`);
      return (
        `${type}\n/** A new ${definition.name} as it crosses from the host: its handle, and the facts about ` +
        `it. */\nexport interface ${name}Handle {\n  readonly handle: number;\n${members.join('')}}\n`
      );
    }
  }
}

function guestInterface(world: readonly WitInterface[], one: WitInterface): string {
  const statics = new Set(one.functions.filter(({ isStatic }) => isStatic).map(({ resource }) => resource!));
  const members = [
    ...[...statics].map((resource) => {
      const functions = one.functions.filter((fn) => fn.isStatic && fn.resource === resource);
      const body = functions.map((fn) => method(world, fn, '    ')).join('');
      return `  readonly ${pascalCase(resource)}: {\n${body}  };\n`;
    }),
    ...one.functions.filter(({ resource }) => resource === undefined).map((fn) => method(world, fn)),
  ];
  return (
    `/** The interface \`${one.name}\` as a guest sees it. A function that fails throws the record \`error\`. ` +
    `*/\nexport interface ${pascalCase(one.name)} {\n${members.join('')}}\n`
  );
}

function callsInterface(world: readonly WitInterface[], one: WitInterface, calls: readonly WitFunction[]): string {
  const members = calls.map((fn) => {
    const self = fn.resource !== undefined && !fn.isStatic ? [`${camelCase(fn.resource)}: number`] : [];
    const args = [...self, ...fn.params.map((field) => param(field, callTypes(world, false)))];
    return (
      `  '${callName(one, fn)}': { readonly args: readonly [${args.join(', ')}]; readonly value: ` +
      `${valueType(fn, callTypes(world, true), 'undefined')} };\n`
    );
  });
  return (
    `/** Its calls as they cross to the host. A resource is the number of its handle. */\nexport interface ` +
    `${pascalCase(one.name)}Calls {\n${members.join('')}}\n`
  );
}

function method(world: readonly WitInterface[], fn: WitFunction, indent = '  '): string {
  const names = guestTypes(world);
  const params = fn.params.map((field) => param(field, names)).join(', ');
  return `${docs(fn.docs, indent)}${indent}${camelCase(fn.name)}(${params}): ${valueType(fn, names)};\n`;
}

function member(world: readonly WitInterface[], { name, type, docs: own }: WitField): string {
  const optional = type.name === 'option' ? '?' : '';
  return `${docs(own, '  ')}  readonly ${camelCase(name)}${optional}: ${typeScriptType(type, guestTypes(world))};\n`;
}

export const param = ({ name, type }: WitField, names: TypeNames): string =>
  `${camelCase(name)}: ${typeScriptType(type, names)}`;

const valueType = ({ value }: WitFunction, names: TypeNames, none = 'void'): string =>
  value ? typeScriptType(value, names) : none;

function docs(lines: readonly string[], indent = ''): string {
  if (lines.length < 2) return lines.map((line) => `${indent}/** ${line} */\n`).join('');
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

/** All calls of guests in one interface. */
export function callsFile(world: readonly WitInterface[]): string {
  const asking = world.filter(({ functions }) => functions.some(({ canFail }) => canFail));
  const imports = asking
    .filter(({ name }) => name !== 'endpoint')
    .map(({ name }) => ({ type: `${pascalCase(name)}Calls`, file: `./${name}.ts` }));
  return `${imports.map(({ type, file }) => `import type { ${type} } from '${file}';\n`).join('')}
/** All calls of guests as they cross to the host, by name. */
export interface HostCalls extends ${imports.map(({ type }) => type).join(', ')} {}
`;
}

/** The functions of the interfaces that a plugin may import, as data. */
export function functionsFile(world: readonly WitInterface[]): string {
  const interfaces = world
    .filter(({ name }) => name !== 'endpoint')
    .map((one) => {
      const entries = one.functions.map((fn) => `    { name: '${componentName(fn)}'${answeredBy(one, fn)} },\n`);
      return `  '${one.name}': [${entries.length > 0 ? `\n${entries.join('')}  ` : ''}],\n`;
    });
  return `import type { HostCalls } from './calls.ts';

export interface WorldFunction {
  /** As components name it, such as \`[method]chunks.next\`. */
  readonly name: string;
  /** The call with which a capability of the host answers it. */
  readonly call?: keyof HostCalls;
  /** The fact that it returns. The call that made its resource has returned it together with the handle. */
  readonly fact?: string;
}

/** The functions of each interface that a plugin may import. */
export const worldFunctions = {
${interfaces.join('')}} as const satisfies Record<string, readonly WorldFunction[]>;
`;
}

function answeredBy(one: WitInterface, fn: WitFunction): string {
  if (fn.canFail) return `, call: '${callName(one, fn)}'`;
  return fn.resource === undefined ? '' : `, fact: '${camelCase(fn.name)}'`;
}
