import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';
import type { BundleMap } from './source-positions.ts';
import { loadBuildTools } from './build-tools.ts';
import { bundlePlugin } from './bundle.ts';

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
  const { code, positions, waitsAt, files } = await bundlePlugin(manifest, tools);
  const { componentize } = await loadBuildTools(tools);
  const witPath = join(folder, 'world.wit');
  await writeFile(witPath, world);
  const making = componentize({ witPath, jsSource: code, world: 'plugin', sync: true }).finally(() =>
    rm(witPath, { force: true }),
  );
  const { component } = await making.catch((cause: unknown) => {
    throw pluginLoadError(
      manifest.name,
      `cannot be made into a component: ${positions.translate(evaluationError(cause, waitsAt))}`,
      cause,
    );
  });
  return { component, map: positions.map, files };
}

/** Returns why the top level of the sources failed, without the prefixes of the compiler. */
function evaluationError(cause: unknown, waitsAt: string | undefined): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  if (waitsAt !== undefined && message.includes('a promise that nothing settles'))
    return `${waitsAt}: its top level waits for a promise that nothing settles`;
  const [, missing] = /unknown import: `(aana:host\/[^`]+)` has not been defined/.exec(message) ?? [];
  if (missing !== undefined) return `its top level calls the host (${missing}), which exists only inside "run"`;
  return message
    .replace(/^(: )?Failed to evaluate user JavaScript module: (Failed to finish JavaScript module evaluation: )?/, '')
    .trimEnd();
}
