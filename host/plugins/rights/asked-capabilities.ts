import type { Capability } from '../capabilities/catalogue.ts';
import { readManifest } from '../set/manifest.ts';

/**
 * Whether one of the plugins at these folders and component files asks for a capability. What is wrong with a manifest
 * is said when it is loaded.
 */
export async function asksFor(sources: readonly string[], capability: Capability): Promise<boolean> {
  const manifests = await Promise.all(sources.map((source) => readManifest(source).catch(() => undefined)));
  return manifests.some((manifest) => manifest?.capabilities.includes(capability));
}
