import type { Capability } from '../capabilities/catalogue.ts';
import { readManifest } from '../set/manifest.ts';

/**
 * Whether one of the plugins at these folders and component files requests a capability. Errors in a manifest are
 * ignored here, because loading the plugin reports them.
 */
export async function asksFor(sources: readonly string[], capability: Capability): Promise<boolean> {
  const manifests = await Promise.all(sources.map((source) => readManifest(source).catch(() => undefined)));
  return manifests.some((manifest) => manifest?.capabilities.includes(capability));
}
