import type { Endpoint, EndpointInfo } from './endpoint.ts';
import type { ErrorRecord } from './host-error.ts';
import type { Host } from './host.ts';

/** What a plugin exports as `endpoint`. */
export interface Plugin {
  describe(): EndpointInfo[];
  run(name: string, input: string): string;
  readonly endpoints: readonly Endpoint[];
}

export function bindPlugin(endpoints: readonly Endpoint[], host: () => Host): Plugin {
  const byName = new Map(endpoints.map((endpoint) => [endpoint.info.name, endpoint]));
  if (byName.size < endpoints.length) throw new Error('two endpoints of this plugin have the same name');
  const infos = endpoints.map((endpoint) => endpoint.info);
  return {
    endpoints,
    describe: () => infos,
    run(name, input) {
      const endpoint = byName.get(name);
      if (!endpoint) throw notFound(name, [...byName.keys()]);
      return endpoint.run(host(), input);
    },
  };
}

function notFound(name: string, known: readonly string[]): ErrorRecord {
  return { kind: 'not-found', name: 'EndpointNotFoundException', message: `no endpoint "${name}"; there are ${known.join(', ')}`, data: JSON.stringify({ endpoint: name }) };
}

