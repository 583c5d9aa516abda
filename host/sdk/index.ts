/** `aana-host/plugin` inside the sandbox. */
import './zod-config.ts';
import { installConsole } from './console.ts';
import type { Endpoint } from './endpoint.ts';
import { host } from './imports.ts';
import { bindPlugin, type Plugin, type PluginOptions } from './plugin.ts';
import { installRandom } from './random.ts';
import { running } from './running.ts';

export * from './public.ts';

installConsole(host);
installRandom(host.randomBytes);

/** Export the result as `endpoint`. */
export function definePlugin(endpoints: readonly Endpoint[], options: PluginOptions = {}): Plugin {
  const start = (): typeof host => {
    running.isOn = true;
    return host;
  };
  return bindPlugin(endpoints, options, start, host);
}
