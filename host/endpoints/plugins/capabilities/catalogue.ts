import { type WorldFunction, worldFunctions } from '../../../../wit/generated/world/functions.ts';

/** What the host must know about a capability beside its functions. */
interface CapabilityDefinition {
  /** Whether its calls go to deployments, which a manifest names. */
  readonly callsDeployments?: boolean;
  /** Whether only the operator can grant it. Others are granted unless the operator configures something else. */
  readonly isWithheld?: boolean;
}

/**
 * The interfaces of the world that a plugin has only when it asks for them and the operator grants them, by name. This
 * is the only list of them: manifests, grants, the check of imports, and the world of a build follow from it.
 */
const definitions = {
  media: {},
  deployments: { callsDeployments: true },
  asr: { callsDeployments: true },
  llm: { callsDeployments: true },
  storage: {},
  repositories: {},
  'repositories-write': { isWithheld: true },
  http: {},
  remote: {},
} satisfies { readonly [C in keyof typeof worldFunctions]?: CapabilityDefinition };

export type Capability = keyof typeof definitions;

export const capabilityNames = Object.keys(definitions) as readonly Capability[];
export const capabilityDefinitions: Readonly<Record<Capability, CapabilityDefinition>> = definitions;

/** Whether an interface of the world must be granted. */
export const isCapability = (name: string): name is Capability => Object.hasOwn(definitions, name);

/** Interfaces that every plugin has. */
export const commonInterfaces: readonly string[] = Object.keys(worldFunctions).filter((name) => !isCapability(name));

/** A function of a capability that a guest reaches by name: alone, or as a member of the resource that it makes. */
export interface EntryFunction {
  readonly entryPoint: string;
  readonly member?: string;
}

/** The functions of a capability that a guest reaches by name. Others need what these return. */
export function entryFunctions(capability: Capability): readonly EntryFunction[] {
  return worldFunctions[capability].flatMap(({ name }) => {
    if (name.startsWith('[method]')) return [];
    const [, resource, member] = /^\[static\]([^.]+)\.(.+)$/.exec(name) ?? [];
    if (resource === undefined || member === undefined) return [{ entryPoint: camelCase(name) }];
    return [{ entryPoint: camelCase(`-${resource}`), member: camelCase(member) }];
  });
}

/** Names through which a guest reaches what a capability offers. */
function entryPoints(capability: Capability): readonly string[] {
  return [...new Set(entryFunctions(capability).map(({ entryPoint }) => entryPoint))];
}

/**
 * Exports that stand for a capability in a guest that does not ask for it. `denied` is a function that throws the
 * reason.
 */
export function deniedExports(capability: Capability): string {
  const functions = entryFunctions(capability);
  const exported = entryPoints(capability).map((name) => {
    const members = functions.flatMap(({ entryPoint, member }) => (entryPoint === name && member ? [member] : []));
    return members.length === 0
      ? `export { denied as ${name} };`
      : `export const ${name} = { ${members.map((member) => `${member}: denied`).join(', ')} };`;
  });
  return exported.join('\n');
}

const functionsByName: ReadonlyMap<string, WorldFunction> = new Map(
  Object.entries(worldFunctions).flatMap(([interfaceName, functions]) =>
    functions.map((each: WorldFunction) => [`${interfaceName}#${each.name}`, each] as const),
  ),
);

/** Returns a function of the world by `interface#function`, such as `deployments#[method]chunks.next`. */
export const worldFunction = (name: string): WorldFunction | undefined => functionsByName.get(name);

const camelCase = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
