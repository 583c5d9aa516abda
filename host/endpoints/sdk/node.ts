/**
 * `aana-host/plugin` outside of the sandbox, for tests. It has the same names. `runEndpoint` of
 * `aana-host/plugin/testing` provides the host.
 */
import type { Endpoint } from './endpoint.ts';
import { bindPlugin, type Plugin, type PluginOptions } from './plugin.ts';

export * from './public.ts';

export function definePlugin(endpoints: readonly Endpoint[], options: PluginOptions = {}): Plugin {
  return bindPlugin(endpoints, options, () => {
    throw new Error('a plugin runs in the host; in a test use runEndpoint of aana-host/plugin/testing');
  });
}
