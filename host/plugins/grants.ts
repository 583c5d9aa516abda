import { AanaError } from '../core/errors.ts';
import { type Capability, capabilityNames } from './capabilities/catalogue.ts';
import { type LimitsByName, lowered, type PluginLimits, withLimits } from './limits.ts';
import { type PluginManifest, pluginLoadError } from './manifest.ts';

/** What the operator allows one plugin, or all (`*`). What is left out is as for all, and there as by default. */
export interface PluginGrant {
  readonly capabilities?: readonly string[] | undefined;
  /** Names of deployments; `*` is any. */
  readonly deployments?: readonly string[] | undefined;
  readonly limits?: LimitsByName | undefined;
}

/** Grants by the name of the plugin; `*` is every plugin. */
export type PluginGrants = Readonly<Record<string, PluginGrant>>;

/**
 * What is granted where the configuration says nothing: all that a manifest asks for. Media come under the host's own rules, and a
 * deployment does the same for every caller, so that a plugin cannot reach through them what a request could not.
 */
const defaultGrant = { capabilities: ['*'], deployments: ['*'], limits: {} } as const;

/** What a plugin gets. */
export interface Granted {
  readonly capabilities: ReadonlySet<string>;
  readonly limits: PluginLimits;
  /** Why the plugin may not call a deployment; undefined when it may. */
  refusalOf(deployment: string): string | undefined;
  /** Deployments that it asks for and gets; `*` is any. */
  readonly deployments: readonly string[];
}

/** What the manifest asks for and the operator grants. */
export function grantTo(manifest: PluginManifest, grants: PluginGrants, limits: PluginLimits): Granted {
  const own = Object.hasOwn(grants, manifest.name) ? grants[manifest.name]! : {};
  const all = Object.hasOwn(grants, '*') ? grants['*']! : {};
  const capabilities: readonly string[] = own.capabilities ?? all.capabilities ?? defaultGrant.capabilities;
  const deployments: readonly string[] = own.deployments ?? all.deployments ?? defaultGrant.deployments;
  return {
    capabilities: new Set(manifest.capabilities.filter((name) => includes(capabilities, name))),
    limits: lowered(withLimits(limits, { ...all.limits, ...own.limits }), manifest.limits),
    refusalOf: (name) => {
      if (!includes(manifest.deployments, name)) return `the plugin.json of ${manifest.name} does not name it among its deployments`;
      if (!includes(deployments, name)) return `plugin_grants does not grant it to plugin ${manifest.name}`;
      return undefined;
    },
    deployments: includes(manifest.deployments, '*') ? deployments : manifest.deployments.filter((name) => includes(deployments, name)),
  };
}

/** Refuses a component that imports what it was not asked for or is not granted. `uses` are the capabilities whose functions it imports. */
export function checkUses(manifest: PluginManifest, uses: readonly Capability[], granted: Granted): void {
  for (const capability of uses) {
    if (!manifest.capabilities.includes(capability)) {
      throw pluginLoadError(manifest.name, `imports aana:host/${capability}, which its plugin.json does not ask for: add "${capability}" to its capabilities`);
    }
    if (!granted.capabilities.has(capability)) throw pluginLoadError(manifest.name, `imports aana:host/${capability}, which plugin_grants does not grant to it`);
  }
}

function includes(names: readonly string[], name: string): boolean {
  return names.includes('*') || names.includes(name);
}

/** Throws a `ConfigError` that names the entry when grants name a capability that there is not. */
export function checkGrants(grants: PluginGrants): void {
  for (const [plugin, { capabilities = [] }] of Object.entries(grants)) {
    const unknown = capabilities.find((name) => name !== '*' && !capabilityNames.some((known) => known === name));
    if (unknown === undefined) continue;
    throw new AanaError('ConfigError', 'invalid-input', `plugin_grants: "${plugin}.capabilities": there is no capability "${unknown}"; there are ${capabilityNames.join(', ')}, and "*" for all`);
  }
}
