import { AanaError, fail } from '../../../base/core/errors.ts';
import { type Capability, capabilityDefinitions, capabilityNames } from '../capabilities/catalogue.ts';
import { hostPattern, isHostAmong, isHostNamed } from '../capabilities/hosts.ts';
import { type LimitsByName, lowered, type PluginLimits, withLimits } from './limits.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';

/**
 * What the operator allows one plugin, or all plugins (`*`). An absent member falls back to the entry for all plugins,
 * and then to the default.
 */
export interface PluginGrant {
  readonly capabilities?: readonly string[] | undefined;
  /** Names of deployments. `*` stands for all. */
  readonly deployments?: readonly string[] | undefined;
  /**
   * Hosts to which the plugin may send requests and from which it may open media, in the form of the manifest. `*`
   * stands for every public host. An address, `localhost`, and a name with its port also stand for private addresses.
   */
  readonly hosts?: readonly string[] | undefined;
  readonly limits?: LimitsByName | undefined;
}

/** Grants by name of the plugin. `*` stands for every plugin. */
export type PluginGrants = Readonly<Record<string, PluginGrant>>;

/**
 * The grants when the configuration says nothing: everything that the manifest requests. Media come from the request,
 * and a deployment does the same for every caller, so a plugin cannot use them to reach more than the request could.
 * The operator must name hosts, because a request can carry away data that the plugin received. The operator must also
 * grant changes of the application's data, because others rely on that data.
 */
const defaultGrant = {
  capabilities: capabilityNames.filter((name) => !capabilityDefinitions[name].isWithheld),
  deployments: ['*'],
  hosts: [],
  limits: {},
} as const;

/** The rights of a plugin. */
export interface Granted {
  readonly capabilities: ReadonlySet<Capability>;
  readonly limits: PluginLimits;
  /** Returns the reason why the plugin may not call a deployment, or undefined when it may. */
  refusalOf(deployment: string): string | undefined;
  /** Deployments that are requested and granted. `*` stands for all. */
  readonly deployments: readonly string[];
  /** Hosts that are requested and granted completely. `*` stands for all. */
  readonly hosts: readonly string[];
  /** Returns the reason why the plugin may not request a URL or open media from it, or undefined when it may. */
  readonly refusalOfUrl: (url: URL) => string | undefined;
  /** Returns whether the operator names the URL's host, so that requests may reach its private address. */
  isNamedHost(url: URL): boolean;
}

/** Returns what the manifest requests and the operator grants. */
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
      : manifest.hosts.filter((pattern) =>
          ['http', 'https'].some((scheme) => isHostAmong(new URL(`${scheme}://${pattern.replace('*', 'any')}`), hosts)),
        ),
    refusalOfUrl: (url) => {
      if (!isHostAmong(url, manifest.hosts))
        return `the plugin.json of ${manifest.name} does not name ${url.host} among its hosts`;
      if (!isHostAmong(url, hosts))
        return `plugin_grants does not grant the host ${url.host} to plugin ${manifest.name}`;
      return undefined;
    },
    isNamedHost: (url) => isHostNamed(url, hosts),
  };
}

/**
 * Throws when a component imports a capability that is not requested or not granted. `uses` has the capabilities whose
 * functions the component imports.
 */
export function checkUses(manifest: PluginManifest, uses: readonly Capability[], granted: Granted): void {
  for (const capability of uses) {
    if (!manifest.capabilities.includes(capability)) {
      throw pluginLoadError(
        manifest.name,
        `imports aana:host/${capability}, which its plugin.json does not ask for: add "${capability}" to its ` +
          `capabilities`,
      );
    }
    if (granted.capabilities.has(capability)) continue;
    const how = capabilityDefinitions[capability].isWithheld
      ? `; to serve the plugin, add to the configuration: "plugin_grants": ` +
        `${JSON.stringify({ [manifest.name]: { capabilities: manifest.capabilities } })}`
      : '';
    throw fail(
      'PluginLoadError',
      `plugin ${manifest.name} imports aana:host/${capability}, which plugin_grants does not grant to it${how}`,
      { data: { plugin: manifest.name, capability } },
    );
  }
}

/** Returns whether a plugin was refused only because the operator does not grant a capability to it. */
export const isNotGranted = (error: unknown): boolean =>
  error instanceof AanaError && error.name === 'PluginLoadError' && Object.hasOwn(Object(error.data), 'capability');

function includes(names: readonly string[], name: string): boolean {
  return names.includes('*') || names.includes(name);
}

/** Throws a `ConfigError` that names the entry when grants name an unknown capability or an invalid host. */
export function checkGrants(grants: PluginGrants): void {
  for (const [plugin, { capabilities = [], hosts = [] }] of Object.entries(grants)) {
    const unknown = capabilities.find((name) => name !== '*' && !capabilityNames.some((known) => known === name));
    const wrong = hosts.find((host) => host !== '*' && !hostPattern.test(host));
    if (wrong !== undefined)
      throw fail(
        'ConfigError',
        `plugin_grants: "${plugin}.hosts": "${wrong}" is not a host such as "api.example.org" or "*.example.org", ` +
          `with ":port" for a port other than the default, or "*" for all`,
      );
    if (unknown === undefined) continue;
    throw fail(
      'ConfigError',
      `plugin_grants: "${plugin}.capabilities": there is no capability "${unknown}"; there are ` +
        `${capabilityNames.join(', ')}, and "*" for all`,
    );
  }
}
