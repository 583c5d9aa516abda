import { type Capability, capabilityNames, deniedExports } from '../capabilities/catalogue.ts';

/**
 * The world for a plugin that asks for these capabilities: `wit/world.wit` without the imports of the others. Of those
 * whose types other interfaces name, the types stay. A component made with it imports what it asked for and no more.
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
  return body
    .split('\n')
    .filter((line) => !/^\s*\/\/\/|: (static )?func\(/.test(line))
    .join('\n');
}

/**
 * A module in place of the interface of a capability that a plugin does not ask for: its functions fail with a
 * sentence. Undefined for others.
 */
export function absentInterface(specifier: string, capabilities: readonly Capability[]): string | undefined {
  const name = /^aana:host\/([\w-]+)/.exec(specifier)?.[1];
  const absent = capabilityNames.find((each) => each === name && !capabilities.includes(each));
  if (absent === undefined) return undefined;
  const message = `this plugin does not ask for the capability ${absent}: add "${absent}" to "capabilities" in its plugin.json`;
  const error = { kind: 'denied', name: 'CapabilityDenied', message, data: JSON.stringify({ capability: absent }) };
  return `const denied = () => { throw ${JSON.stringify(error)}; };\nexport const isDenied = true;\n${deniedExports(absent)}\n`;
}
