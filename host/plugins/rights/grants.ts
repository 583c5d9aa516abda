import { AanaError } from '../../core/errors.ts';
import { type Capability, capabilityDefinitions, capabilityNames } from '../capabilities/catalogue.ts';
import { hostPattern, isHostAmong } from '../capabilities/hosts.ts';
import { type LimitsByName, lowered, type PluginLimits, withLimits } from './limits.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';

/** What the operator allows one plugin, or all (`*`). What is left out is as for all, and there as by default. */
export interface PluginGrant {
  readonly capabilities?: readonly string[] | undefined;
  /** Names of deployments; `*` is any. */
  readonly deployments?: readonly string[] | undefined;
  /** Hosts that it may make requests to and open media of, as manifests name them; `*` is every public host. */
  readonly hosts?: readonly string[] | undefined;
  readonly limits?: LimitsByName | undefined;
}

/** Grants by the name of the plugin; `*` is every plugin. */
export type PluginGrants = Readonly<Record<string, PluginGrant>>;

/**
 * What is granted where the configuration says nothing: all that a manifest asks for. Media are those that a request
 * names, and a deployment does the same for every caller, so that a plugin cannot reach through them what a request
 * could not. Hosts are for the operator to name: a request can carry away what a plugin was given. So is what changes
 * the application's own data, which others rely on.
 */
const defaultGrant = {
  capabilities: capabilityNames.filter((name) => !capabilityDefinitions[name].isWithheld),
  deployments: ['*'],
  hosts: [],
  limits: {},
} as const;

/** What a plugin gets. */
export interface Granted {
  readonly capabilities: ReadonlySet<Capability>;
  readonly limits: PluginLimits;
  /** Why the plugin may not call a deployment; undefined when it may. */
  refusalOf(deployment: string): string | undefined;
  /** Deployments that it asks for and gets; `*` is any. */
  readonly deployments: readonly string[];
  /** Hosts that it asks for and of which all are granted; `*` is any. */
  readonly hosts: readonly string[];
  /** Why the plugin may not make a request to a URL, or open media of it; undefined when it may. */
  refusalOfUrl(url: URL): string | undefined;
}

/** What the manifest asks for and the operator grants. */
export function grantTo(manifest: PluginManifest, grants: PluginGrants, limits: PluginLimits): Granted {
  const own = Object.hasOwn(grants, manifest.name) ? grants[manifest.name]! : {};
  const all = Object.hasOwn(grants, '*') ? grants['*']! : {};
  const capabilities: readonly string[] = own.capabilities ?? all.capabilities ?? defaultGrant.capabilities;
  const deployments: readonly string[] = own.deployments ?? all.deployments ?? defaultGrant.deployments;
  const hosts: readonly string[] = own.hosts ?? all.hosts ?? defaultGrant.hosts;
  return {
    capabilities: new Set(manifest.capabilities.filter((name) => includes(capabilities, name))),
    limits: lowered(withLimits(limits, { ...all.limits, ...own.limits }), manifest.limits),
    refusalOf: (name) => {
      if (!includes(manifest.deployments, name))
        return `the plugin.json of ${manifest.name} does not name it among its deployments`;
      if (!includes(deployments, name)) return `plugin_grants does not grant it to plugin ${manifest.name}`;
      return undefined;
    },
    deployments: includes(manifest.deployments, '*')
      ? deployments
      : manifest.deployments.filter((name) => includes(deployments, name)),
    hosts: manifest.hosts.includes('*')
      ? hosts
      : manifest.hosts.filter((pattern) => isHostAmong(new URL(`http://${pattern.replace('*', 'any')}`), hosts)),
    refusalOfUrl: (url) => {
      if (!isHostAmong(url, manifest.hosts))
        return `the plugin.json of ${manifest.name} does not name ${url.host} among its hosts`;
      if (!isHostAmong(url, hosts))
        return `plugin_grants does not grant the host ${url.host} to plugin ${manifest.name}`;
      return undefined;
    },
  };
}

/**
 * Refuses a component that imports what it was not asked for or is not granted. `uses` are the capabilities whose
 * functions it imports.
 */
export function checkUses(manifest: PluginManifest, uses: readonly Capability[], granted: Granted): void {
  for (const capability of uses) {
    if (!manifest.capabilities.includes(capability)) {
      throw pluginLoadError(
        manifest.name,
        `imports aana:host/${capability}, which its plugin.json does not ask for: add "${capability}" to its capabilities`,
      );
    }
    if (granted.capabilities.has(capability)) continue;
    const how = capabilityDefinitions[capability].isWithheld
      ? `; it is granted by its name alone: "plugin_grants": ${JSON.stringify({ [manifest.name]: { capabilities: manifest.capabilities } })}`
      : '';
    throw pluginLoadError(
      manifest.name,
      `imports aana:host/${capability}, which plugin_grants does not grant to it${how}`,
    );
  }
}

function includes(names: readonly string[], name: string): boolean {
  return names.includes('*') || names.includes(name);
}

/**
 * Throws a `ConfigError` that names the entry when grants name a capability that there is not, or what is not a host.
 */
export function checkGrants(grants: PluginGrants): void {
  for (const [plugin, { capabilities = [], hosts = [] }] of Object.entries(grants)) {
    const unknown = capabilities.find((name) => name !== '*' && !capabilityNames.some((known) => known === name));
    const wrong = hosts.find((host) => host !== '*' && !hostPattern.test(host));
    if (wrong !== undefined)
      throw new AanaError(
        'ConfigError',
        'invalid-input',
        `plugin_grants: "${plugin}.hosts": "${wrong}" is not a host such as "api.example.org" or "*.example.org", with ":port" where it is not the usual one, or "*" for all`,
      );
    if (unknown === undefined) continue;
    throw new AanaError(
      'ConfigError',
      'invalid-input',
      `plugin_grants: "${plugin}.capabilities": there is no capability "${unknown}"; there are ${capabilityNames.join(', ')}, and "*" for all`,
    );
  }
}
