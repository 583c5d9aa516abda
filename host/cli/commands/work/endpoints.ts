import { askOperator } from '../../../apis/control/index.ts';
import type { EndpointReport } from '../../../apis/http/index.ts';
import { columnsText } from '../../columns.ts';
import type { ApplicationCommand } from '../application.ts';

type Work = EndpointReport['routes'][number]['work'];

/** The command `endpoints`. Prints the endpoints of the application with their requests since the start. */
export async function listEndpoints({ out, ...at }: ApplicationCommand, asJson: boolean): Promise<number> {
  const report = await askOperator(at, 'get /api/endpoints', {});
  out.write(asJson ? `${JSON.stringify(report, undefined, 2)}\n` : endpointsText(report));
  return 0;
}

const TITLES = ['REQUESTS', 'REFUSED', 'FAILED', 'P50', 'P95'];

function endpointsText({ endpoints, routes }: EndpointReport): string {
  const own =
    endpoints.length === 0
      ? 'the application has no endpoints\n'
      : columnsText([
          ['ENDPOINT', 'PLUGIN', ...TITLES],
          ...endpoints.map(({ path, plugin, work }) => [path, plugin ?? '-', ...cellsOf(work)]),
        ]);
  if (routes.length === 0) return own;
  const rows = routes.map(({ route, work }) => [route, ...cellsOf(work)]);
  return `${own}\n${columnsText([['ROUTE', ...TITLES], ...rows])}`;
}

function cellsOf(work: Work | null): string[] {
  if (work === null) return TITLES.map(() => '-');
  const { requests, refused, failed, latency_p50_s: half, latency_p95_s: most } = work;
  return [...[requests, refused, failed].map(String), timeText(half), timeText(most)];
}

function timeText(seconds: number | null): string {
  if (seconds === null) return '-';
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}
