import type { EndpointRegistry } from '../../endpoints/registry/index.ts';
import type { EndpointReport } from '../../apis/http/index.ts';
import type { routeWork } from '../../base/telemetry/index.ts';

const NONE = { requests: 0, refused: 0, failed: 0, latency_p50_s: null, latency_p95_s: null };

/** Returns the endpoints with their work. `work` is undefined without metrics. */
export function endpointReport(
  registry: Pick<EndpointRegistry, 'list'>,
  work: ReturnType<typeof routeWork> | undefined,
): EndpointReport {
  const byRoute = new Map(work?.map(({ route, ...rest }) => [route, rest]));
  const endpoints = registry.list().map(({ name, path, summary, plugin = null, streaming, deployments = [] }) => {
    const mine = byRoute.get(path) ?? NONE;
    byRoute.delete(path);
    return { name, path, summary, plugin, streaming, deployments: [...deployments], work: work ? mine : null };
  });
  return { endpoints, routes: [...byRoute].map(([route, each]) => ({ route, work: each })) };
}
