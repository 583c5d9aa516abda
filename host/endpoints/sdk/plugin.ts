import { missingCapability } from './capabilities/capabilities.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Endpoint, EndpointInfo } from './endpoint.ts';
import type { Helper } from './capabilities/helper.ts';
import type { ErrorRecord } from './host-error.ts';
import type { Host } from './host.ts';

/** The export `endpoint` of a plugin. */
export interface Plugin {
  describe(): EndpointInfo[];
  run(name: string, input: string): MaybePromise<string>;
  readonly endpoints: readonly Endpoint[];
  readonly helpers: readonly Helper[];
}

export interface PluginOptions {
  /** Helpers for `ctx.runRemote`. */
  readonly helpers?: readonly Helper[];
}

/** The prefix of a helper's name when the host calls `run`. No endpoint can have such a name. */
const helperPrefix = 'helper:';

/** @param granted the interfaces of the host that the plugin requests. Undefined in tests. */
export function bindPlugin(
  endpoints: readonly Endpoint[],
  { helpers = [] }: PluginOptions,
  host: () => Host,
  granted?: Host,
): Plugin {
  const byName = new Map(endpoints.map((endpoint) => [endpoint.info.name, endpoint]));
  if (byName.size < endpoints.length) throw new Error('two endpoints of this plugin have the same name');
  const helpersByName = new Map(helpers.map((helper) => [`${helperPrefix}${helper.name}`, helper]));
  if (helpersByName.size < helpers.length) throw new Error('two helpers of this plugin have the same name');
  for (const { info, uses } of granted ? endpoints : []) {
    // Here, because a build evaluates this. `describe` runs when a server loads the component.
    const missing = uses.find((capability) => granted![capability] === undefined);
    if (missing) throw new Error(missingCapability(`the endpoint ${info.name}`, missing));
  }
  const infos = endpoints.map((endpoint) => endpoint.info);
  return {
    endpoints,
    helpers,
    describe() {
      for (const { initialize } of endpoints) initialize();
      return infos;
    },
    run(name, input) {
      const target = byName.get(name) ?? helpersByName.get(name);
      if (!target) throw notFound(name, name.startsWith(helperPrefix) ? helpersByName : byName);
      return target.run(host(), input);
    },
  };
}

function notFound(name: string, known: ReadonlyMap<string, unknown>): ErrorRecord {
  return {
    kind: 'not-found',
    name: 'EndpointNotFoundException',
    message: `the plugin has no "${name}"; there are ${[...known.keys()].join(', ') || 'none'}`,
    data: JSON.stringify({ endpoint: name }),
  };
}
