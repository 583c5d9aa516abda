import { callName, camelCase, pascalCase, typeScriptType } from './names.ts';
import type { WitField, WitFunction, WitInterface, WitType } from './read-world.ts';
import { factsOf, guestTypes, isResource } from './world-types.ts';

const head = `
/** A value now, or later where the guest is suspended. */
export type Awaitable<T> = T | Promise<T>;

/** Asks the host for the invocation that runs. */
export type CallHost = <O extends keyof HostCalls>(operation: O, ...args: HostCalls[O]['args']) => Awaitable<HostCalls[O]['value']>;

/** An object that stands for a resource of the host. */
export interface Held {
  readonly handle: number;
}

/** Applies \`fn\` to a value that is there or will be. */
export function map<T, R>(value: Awaitable<T>, fn: (value: T) => R): Awaitable<R> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}
`;

/**
 * The thin part of an instance's imports: functions and classes that pass each call of a guest to the host. Functions
 * that need no host are written by hand.
 */
export function importsFile(world: readonly WitInterface[]): string {
  const asking = world.filter(({ name, functions }) => name !== 'endpoint' && functions.some((fn) => fn.canFail));
  const home = (name: string): string =>
    camelCase(world.find(({ definitions }) => definitions.some((each) => each.name === name))!.name);
  const names = guestTypes(world, (name) => `${home(name)}.${pascalCase(name)}`);
  const typeOf = (type: WitType): string =>
    typeScriptType(type, { ...names, resource: (name) => (isResource(world, name) ? 'Held' : undefined) });
  const param = ({ name, type }: WitField): string => `${camelCase(name)}: ${typeOf(type)}`;

  const handleOf = ({ name, type }: WitField): string => {
    const passed = camelCase(name);
    const inner = type.name === 'borrow' ? type.of[0]! : type;
    if (isResource(world, inner.name)) return `${passed}.handle`;
    const item = type.name === 'list' ? type.of[0]! : undefined;
    return item?.name === 'borrow' ? `${passed}.map((each) => each.handle)` : passed;
  };
  const call = (one: WitInterface, fn: WitFunction): string => {
    const self = fn.resource !== undefined && !fn.isStatic ? ['this.handle'] : [];
    const args = [`'${callName(one, fn)}'`, ...self, ...fn.params.map(handleOf)].join(', ');
    const made = fn.value && isResource(world, fn.value.name) ? pascalCase(fn.value.name) : undefined;
    return made ? `map(call(${args}), (value) => new ${made}(value))` : `call(${args})`;
  };
  const returned = ({ value }: WitFunction): string => {
    if (!value) return 'undefined';
    return isResource(world, value.name) ? pascalCase(value.name) : typeOf(value);
  };

  const resourceClass = (one: WitInterface, resource: string): string => {
    const facts = factsOf(world, resource);
    const type = `${camelCase(one.name)}.${pascalCase(resource)}Handle`;
    const remembered =
      facts.length > 0
        ? `    readonly #facts: ${type};

    constructor(facts: ${type}) {
      super(facts.handle);
      this.#facts = facts;
    }
`
        : '';
    const members = one.functions
      .filter((fn) => fn.resource === resource)
      .map((fn) => {
        const isFact = facts.includes(fn);
        const type = isFact ? returned(fn) : `Awaitable<${returned(fn)}>`;
        const body = isFact ? `this.#facts.${camelCase(fn.name)}` : call(one, fn);
        return (
          `    ${fn.isStatic ? 'static ' : ''}${camelCase(fn.name)}(${fn.params.map(param).join(', ')}): ` +
          `${type} {\n      return ${body};\n    }\n`
        );
      });
    return (
      `  class ${pascalCase(resource)} extends Resource ` +
      `{\n${[remembered, ...members].filter((each) => each !== '').join('\n')}  }\n`
    );
  };

  const classes = asking.flatMap((one) =>
    one.definitions.filter(({ kind }) => kind === 'resource').map(({ name }) => resourceClass(one, name)),
  );
  const interfaces = asking.map((one) => {
    const resources = one.definitions
      .filter(({ kind }) => kind === 'resource')
      .map(({ name }) => `      ${pascalCase(name)},\n`);
    const functions = one.functions
      .filter(({ resource, canFail }) => resource === undefined && canFail)
      .map((fn) => `      ${camelCase(fn.name)}: (${fn.params.map(param).join(', ')}) => ${call(one, fn)},\n`);
    return `    'aana:host/${one.name}': {\n${[...resources, ...functions].join('')}    },\n`;
  });
  const body = `${head}
/**
 * The functions that ask the host, for one instance, as jco's glue takes them. An instance of \`Resource\` stands for a
 * resource of the host.
 */
export function worldImports(call: CallHost, Resource: new (handle: number) => Held): Record<string, Record<string, unknown>> {
${classes.join('\n')}
  return {
${interfaces.join('')}  };
}
`;
  const modules = world
    .filter(
      ({ name }) => body.includes(`${camelCase(name)}.`) && new RegExp(`\\b${camelCase(name)}\\.[A-Z]`).test(body),
    )
    .map(({ name }) => `import type * as ${camelCase(name)} from './${name}.ts';\n`);
  return `import type { HostCalls } from './calls.ts';\n${modules.join('')}${body}`;
}
