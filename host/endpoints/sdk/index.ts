/** `aana-host/plugin` inside the sandbox. */
import './guest/zod-config.ts';
import { installConsole } from './guest/console.ts';
import type { Endpoint } from './endpoint.ts';
import { host } from './guest/imports.ts';
import { bindPlugin, type Plugin, type PluginOptions } from './plugin.ts';
import { installRandom } from './guest/random.ts';
import { running } from './guest/running.ts';

export * from './public.ts';

installConsole(host.log);
installRandom(host.random.bytes);

/** Defines the plugin. Export the result as `endpoint`. */
export function definePlugin(endpoints: readonly Endpoint[], options: PluginOptions = {}): Plugin {
  const start = (): typeof host => {
    running.isOn = true;
    return host;
  };
  return bindPlugin(endpoints, options, start, host);
}
