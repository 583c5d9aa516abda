import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';
import type { BundleMap } from './source-positions.ts';
import { loadBuildTools } from './build-tools.ts';
import { bundlePlugin } from './bundle.ts';
import { DefinedEndpoints, type FactsByCall } from './endpoint-facts.ts';

/** A built plugin. */
export interface MadeComponent {
  readonly component: Uint8Array;
  /** The map from lines of the bundle to lines of the sources. */
  readonly map: BundleMap;
  /** All bundled files. */
  readonly files: readonly string[];
}

/**
 * Bundles a plugin's entry into one module and compiles it with `world` into a component. This runs code of the plugin.
 * Temporary files go into `folder`. The tools are in the `node_modules` of `tools`.
 */
export async function makeComponent(
  manifest: PluginManifest,
  world: string,
  folder: string,
  tools: string = packageRoot,
): Promise<MadeComponent> {
  const { componentize } = await loadBuildTools(tools);
  const witPath = join(folder, 'world.wit');
  await writeFile(witPath, world);
  const compile = (jsSource: string, optSize = false) =>
    componentize({ witPath, jsSource, world: 'plugin', sync: true, optSize });
  try {
    const learned = await learnedFacts(manifest, tools, compile);
    const defined = learned && new DefinedEndpoints(manifest.dir, learned.facts);
    const { code, positions, waitsAt, files } = await bundlePlugin(manifest, tools, defined);
    const { component } = await compile(code).catch((cause: unknown) => {
      throw pluginLoadError(
        manifest.name,
        `cannot be made into a component: ${positions.translate(evaluationError(cause, waitsAt))}`,
        cause,
      );
    });
    return { component, map: positions.map, files: [...new Set([...(learned?.files ?? []), ...files])] };
  } finally {
    await rm(witPath, { force: true });
  }
}

/**
 * Evaluates a plugin, where the compiler evaluates it, to learn which schemas data express. Returns undefined if there
 * are none, or if it fails: the build then fails in the same way, or makes a component with zod.
 */
async function learnedFacts(
  manifest: PluginManifest,
  tools: string,
  evaluate: (code: string, optSize: boolean) => Promise<unknown>,
): Promise<{ readonly facts: FactsByCall; readonly files: readonly string[] } | undefined> {
  try {
    const defined = new DefinedEndpoints(manifest.dir);
    const { code, files } = await bundlePlugin(manifest, tools, defined);
    if (defined.calls === 0) return undefined;
    const told = await evaluate(`${code}\nglobalThis.aanaTellLearned();`, true).catch(
      (thrown: Error) => thrown.message,
    );
    const [, facts] = /Error: aana-learned (.*)$/m.exec(String(told)) ?? [];
    return facts === undefined ? undefined : { facts: JSON.parse(facts) as FactsByCall, files };
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
