import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';
import type { BundleMap } from './source-positions.ts';
import { loadBuildTools } from './build-tools.ts';
import { BegunComponent } from './begun-component.ts';
import { bundlePlugin } from './bundle.ts';
import { DefinedEndpoints, type FactsByCall } from './endpoint-facts.ts';
import { evaluateBundle } from './interpreter.ts';
import { KeptBuilds } from './kept-builds.ts';

/** A built plugin. */
export interface MadeComponent {
  readonly component: Uint8Array;
  /** The map from lines of the bundle to lines of the sources. */
  readonly map: BundleMap;
  /** The files that the component depends on. */
  readonly files: readonly string[];
}

/** Where and with what a component is made. */
export interface Workshop {
  /** The world of the component. */
  readonly world: string;
  /** Folder in whose `node_modules` the tools are. */
  readonly tools: string;
  /** The versions of all that makes a component of a bundle, the world included. */
  readonly toolchain: string;
  /** Folder of what earlier builds have made. Only this user can write to it. Default: a build uses nothing of them. */
  readonly kept?: string | undefined;
}

/**
 * Begins to make a component, in `folder`. The returned function bundles a plugin's entry into one module and compiles
 * the module into a component. This runs code of the plugin.
 *
 * @param isAhead whether the compiler begins at once. Otherwise it begins when nothing is kept for the bundle.
 */
export async function beginComponent(
  { world, tools, toolchain, kept }: Workshop,
  folder: string,
  isAhead: boolean,
): Promise<(manifest: PluginManifest) => Promise<MadeComponent>> {
  const { componentize } = await loadBuildTools(tools);
  const witPath = join(folder, 'world.wit');
  await writeFile(witPath, world);
  const builds = new KeptBuilds(kept);
  const begin = () => BegunComponent.begin(componentize, witPath, join(folder, 'component'));
  const begun = isAhead ? await begin() : undefined;
  const evaluate = (code: string) =>
    builds.make([toolchain, 'facts', code], async () => Buffer.from(await evaluateBundle(code, 'aanaLearned', tools)));
  return async (manifest) => {
    const learned = await learnedFacts(manifest, tools, evaluate);
    const defined = learned && new DefinedEndpoints(manifest.dir, learned.facts);
    const { code, positions, waitsAt, files } = await bundlePlugin(manifest, tools, defined);
    const made = builds.make([toolchain, 'component', code], async () => (begun ?? (await begin())).finish(code));
    const component = await made.catch((cause: unknown) => {
      throw pluginLoadError(
        manifest.name,
        `cannot be made into a component: ${positions.translate(evaluationError(cause, waitsAt))}`,
        cause,
      );
    });
    return { component, map: positions.map, files: [...new Set([...(learned?.files ?? []), ...files])] };
  };
}

/**
 * Evaluates a plugin to learn which schemas data express. Returns undefined if there are none, or if it fails: the
 * build then fails in the same way, or makes a component with zod.
 */
async function learnedFacts(
  manifest: PluginManifest,
  tools: string,
  evaluate: (code: string) => Promise<Uint8Array>,
): Promise<{ readonly facts: FactsByCall; readonly files: readonly string[] } | undefined> {
  try {
    const defined = new DefinedEndpoints(manifest.dir);
    const { code, files } = await bundlePlugin(manifest, tools, defined);
    if (defined.calls === 0) return undefined;
    const facts = Buffer.from(await evaluate(code)).toString();
    return { facts: JSON.parse(facts) as FactsByCall, files };
  } catch {
    return undefined;
  }
}

/** Returns why the top level of the sources failed, without the prefixes of the compiler. */
function evaluationError(cause: unknown, waitsAt: string | undefined): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (waitsAt !== undefined && message.includes('a promise that nothing settles'))
    return `${waitsAt}: its top level waits for a promise that nothing settles`;
  const [, missing] = /unknown import: `(aana:host\/[^`]+)` has not been defined/.exec(message) ?? [];
  if (missing?.includes('/concurrency@'))
    return 'its top level waits for a timer, and there are none while it is built';
  if (missing !== undefined) return `its top level calls the host (${missing}), which exists only inside "run"`;
  return message
    .replace(/^(: )?Failed to evaluate user JavaScript module: (Failed to finish JavaScript module evaluation: )?/, '')
    .trimEnd();
}
