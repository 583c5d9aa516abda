import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Capability, capabilityNames } from '../capabilities/catalogue.ts';
import {
  compileComponent,
  type ComponentTypes,
  offeredTypes,
  type SandboxProgram,
  startComponent,
  typeProblem,
} from '../sandbox/index.ts';
import { pluginLoadError } from './manifest.ts';
import { type PluginCode, startMs } from './plugin-code.ts';

export interface ComponentOptions {
  /** The name of the plugin, for errors. */
  readonly plugin: string;
  readonly cacheDir: string;
  /** Returns the program that compiles and runs components. */
  readonly sandbox: () => Promise<SandboxProgram>;
  /** Whether code is made fast that runs slower. */
  readonly isFast?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Slots whose memory stays ready for the next runs, and how many bytes from its beginning do. A component in TypeScript
 * has 2 to 5 MB, of which a small run changes 0.3 MB.
 */
export const warm = { warmSlots: 8, warmBytes: 8 * 1024 * 1024 };
export const endpoint = 'aana:host/endpoint@0.1.0';
export const output = 'aana:host/output#write';

/**
 * Reads a component, compiles it, and compares its types with those of the world. Compiled code is kept in
 * `<cacheDir>/plugins`. Throws `PluginLoadError`.
 */
export async function readComponent(component: string, options: ComponentOptions): Promise<PluginCode> {
  const { plugin, cacheDir, isFast, signal } = options;
  const sandbox = await options.sandbox();
  const folder = join(cacheDir, 'plugins');
  const compile = { sandbox, plugin, component, isFast };
  const compiled = await compileComponent({ ...compile, signal }, folder);
  const types = offeredTypes();
  const problem = typeProblem(compiled.types, types);
  if (problem !== undefined) throw pluginLoadError(plugin, `cannot run on this host: ${problem}`);
  return {
    digest: compiled.digest,
    // Without those of which it needs types only, for functions of other interfaces.
    imports: compiled.types.imports.filter((one) => !isOfTypes(one)).map(({ name }) => name),
    uses: capabilityNames.filter((name) => uses(compiled.types, name)),
    concurrency: (limits) => limits.maxConcurrent,
    start: ({ limits, slots, signal: ending }) =>
      startComponent(compiled, { ...compile, signal: ending }, folder, {
        ...{ endpoint, output, types, signal: ending },
        limits: {
          ...{ threads: threadsFor(limits.maxThreads), slots, ...warm, startMs },
          memoryBytes: limits.memoryBytes,
          totalBytes: limits.totalMemoryBytes,
        },
      }),
  };
}

/** The number of threads that run the guests of one plugin. The host and other plugins need processors, too. */
const threadsFor = (most: number): number => Math.max(1, Math.min(most, Math.floor(availableParallelism() / 2)));

/** Whether a component imports a function of a capability. It reaches methods only through such a function. */
function uses(types: ComponentTypes, capability: Capability): boolean {
  const found = types.imports.find(({ name }) => name.startsWith(`aana:host/${capability}@`));
  return hasFunction(found?.members);
}

/** Whether it is an interface of the world of which a component has only types. */
const isOfTypes = ({ name, members }: ComponentTypes['imports'][number]): boolean =>
  name.startsWith('aana:host/') && !hasFunction(members);

const hasFunction = (members: ReadonlyMap<string, string> = new Map()): boolean =>
  [...members].some(([name, type]) => type.startsWith('func(') && !name.startsWith('[method]'));
