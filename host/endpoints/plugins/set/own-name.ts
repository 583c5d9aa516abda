import { pluginLoadError, readManifest } from './manifest.ts';

/**
 * Throws a `PluginLoadError` when another one of `sources` has the name of the plugin at `source`. The name decides
 * about grants and stored values, so neither plugin may have it.
 */
export async function requireOwnName(source: string, sources: readonly string[]): Promise<void> {
  const { name } = await readManifest(source);
  const others = sources.filter((other) => other !== source);
  const names = await Promise.all(
    others.map((other) =>
      readManifest(other).then(
        (manifest) => manifest.name,
        () => undefined,
      ),
    ),
  );
  const other = others[names.indexOf(name)];
  if (other !== undefined)
    throw pluginLoadError(
      name,
      `is there twice, in ${source} and in ${other}: a plugin's grants and stored values belong to its name, so ` +
        `neither is loaded before one is removed, or has another name in its plugin.json`,
    );
}
