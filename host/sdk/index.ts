/** `aana-host/plugin` inside the sandbox. */
import './zod-config.ts';
import { installConsole } from './console.ts';
import type { Endpoint } from './endpoint.ts';
import { host } from './imports.ts';
import { bindPlugin, type Plugin } from './plugin.ts';

export * from './public.ts';

let running = false;
installConsole(host, () => running); // a module's top level runs while the component is built, where there is no host

/** Export the result as `endpoint`. */
export function definePlugin(endpoints: readonly Endpoint[]): Plugin {
  return bindPlugin(endpoints, () => {
    running = true;
    return host;
  });
}
