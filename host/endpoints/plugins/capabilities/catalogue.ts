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
  ocr: { callsDeployments: true },
  llm: { callsDeployments: true },
  storage: {},
  vectors: {},
  repositories: {},
  'repositories-write': { isWithheld: true },
  http: {},
  remote: {},
} satisfies { readonly [C in keyof typeof worldFunctions]?: CapabilityDefinition };

export type Capability = keyof typeof definitions;
type InterfaceName = keyof typeof worldFunctions;

export const capabilityNames = Object.keys(definitions) as readonly Capability[];
export const capabilityDefinitions: Readonly<Record<Capability, CapabilityDefinition>> = definitions;

/** Whether an interface of the world must be granted. */
export const isCapability = (name: string): name is Capability => Object.hasOwn(definitions, name);

/** Whether the world has an interface of this name with functions. */
export const isInterface = (name: string): name is InterfaceName => Object.hasOwn(worldFunctions, name);

/** Interfaces that every plugin has. */
export const commonInterfaces: readonly string[] = Object.keys(worldFunctions).filter((name) => !isCapability(name));

/** A function of a capability that a guest reaches by name: alone, or as a member of the resource that it makes. */
export interface EntryFunction {
  readonly entryPoint: string;
  readonly member?: string;
}

/** The functions of an interface that a guest reaches by name. Others need what these return. */
export function entryFunctions(of: InterfaceName): readonly EntryFunction[] {
  return worldFunctions[of].flatMap(({ name }) => {
    if (name.startsWith('[method]')) return [];
    const [, resource, member] = /^\[static\]([^.]+)\.(.+)$/.exec(name) ?? [];
    if (resource === undefined || member === undefined) return [{ entryPoint: camelCase(name) }];
    return [{ entryPoint: camelCase(`-${resource}`), member: camelCase(member) }];
  });
}

/** Names through which a guest reaches what an interface offers. */
function entryPoints(of: InterfaceName): readonly string[] {
  return [...new Set(entryFunctions(of).map(({ entryPoint }) => entryPoint))];
}

/** Exports that stand for an interface which a guest does not have. `denied` is a function that throws the reason. */
export function deniedExports(absent: InterfaceName): string {
  const functions = entryFunctions(absent);
  const exported = entryPoints(absent).map((name) => {
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
