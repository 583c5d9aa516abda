import type { parseAst } from 'rolldown/parseAst';
import { type Capability, capabilityNames, deniedExports, isInterface } from '../capabilities/catalogue.ts';

/**
 * Returns the world for a plugin that requests these capabilities: `wit/world.wit` without the other imports. Types
 * that other interfaces use remain. A component that is built with it imports only requested capabilities.
 */
export function guestWorld(world: string, capabilities: readonly Capability[]): string {
  return capabilityNames
    .filter((name) => !capabilities.includes(name))
    .reduce((text, name) => {
      if (!text.includes(`use ${name}.{`)) return text.replace(`  import ${name};\n`, '');
      return text.replace(new RegExp(`(?<=^interface ${name} \\{\\n)[\\s\\S]*?(?=^\\}$)`, 'm'), withoutFunctions);
    }, world);
}

function withoutFunctions(body: string): string {
  return body.replaceAll(/^ *\/\/\/.*\n/gm, '').replaceAll(/^ *%?[\w-]+: (static )?func\([^;]*;\n/gm, '');
}

/**
 * Returns the source of a module that replaces the interface of a capability that a plugin does not request. Its
 * functions throw an error with the reason. Returns undefined for other modules.
 */
export function absentInterface(specifier: string, capabilities: readonly Capability[]): string | undefined {
  const name = /^aana:host\/([\w-]+)/.exec(specifier)?.[1];
  const absent = capabilityNames.find((each) => each === name && !capabilities.includes(each));
  if (absent === undefined) return undefined;
  const remedy = `add "${absent}" to "capabilities" in its plugin.json`;
  const message = `this plugin does not ask for the capability ${absent}: ${remedy}`;
  const error = { kind: 'denied', name: 'CapabilityDenied', message, data: JSON.stringify({ capability: absent }) };
  return (
    `const denied = () => { throw ${JSON.stringify(error)}; };\n` +
    `export const isDenied = true;\n${deniedExports(absent)}\n`
  );
}

/** Returns the source of a module that stands for an interface of the host where there is none. */
export function hostStandIn(specifier: string): string {
  const name = /^aana:host\/([\w-]+)/.exec(specifier)?.[1] ?? '';
  if (!isInterface(name)) throw new Error(`the host has no ${specifier}`);
  return `const denied = () => { throw new Error('there is no host'); };\n${deniedExports(name)}`;
}

/** Files of the SDK's folder `capabilities` that make members of `ctx`, and the capabilities that have them. */
const memberFiles: Readonly<Record<string, readonly Capability[]>> = {
  './helper.js': ['remote'],
  './repositories.js': ['repositories', 'repositories-write'],
  './storage.js': ['storage'],
  './vectors.js': ['vectors'],
};

/**
 * Whether a file makes only members of `ctx` that a plugin does not have, because it requests none of their
 * capabilities. `specifier` is the one in the SDK's `capabilities.js`, which calls nothing of such a file: the
 * interface is absent, too.
 */
export const isAbsentMember = (specifier: string, capabilities: readonly Capability[]): boolean =>
  memberFiles[specifier]?.some((name) => capabilities.includes(name)) === false;

/**
 * Returns the source of the module that stands for such files: all names that `program`, the SDK's `capabilities.js`,
 * imports from one. A component then contains only code for what its plugin requests.
 */
export function absentMembers({ body }: ReturnType<typeof parseAst>): string {
  const names = body.flatMap((node) =>
    node.type === 'ImportDeclaration' && Object.hasOwn(memberFiles, node.source.value)
      ? node.specifiers.flatMap((each) => ('imported' in each && 'name' in each.imported ? each.imported.name : []))
      : [],
  );
  return `export let ${names.join(', ')};`;
}
