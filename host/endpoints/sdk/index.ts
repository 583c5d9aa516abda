/** `aana-host/plugin` inside the sandbox. */
import './guest/zod-config.ts';
import { installConsole } from './guest/console.ts';
import type { Endpoint } from './endpoint.ts';
import { host } from './guest/imports.ts';
import { bindPlugin, type Plugin, type PluginOptions } from './plugin.ts';
import { installRandom } from './guest/random.ts';
import { begin, requireNothingLeft, settle, useConcurrency } from './guest/event-loop.ts';
import { recordOf } from './checked.ts';
import { isPromise } from './maybe-promise.ts';

export * from './public.ts';

installConsole(host.log);
installRandom(host.random.bytes);

useConcurrency(host.concurrency!);

/** Defines the plugin. Export the result as `endpoint`. */
export function definePlugin(endpoints: readonly Endpoint[], options: PluginOptions = {}): Plugin {
  const start = (): typeof host => {
    begin();
    return host;
  };
  const plugin = bindPlugin(endpoints, options, start, host);
  return {
    ...plugin,
    run(name, input) {
      const result = plugin.run(name, input);
      try {
        const output = isPromise(result) ? settle(result) : result;
        requireNothingLeft();
        return output;
      } catch (thrown) {
        throw recordOf(host, name, thrown);
      }
    },
  };
}
