import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Metrics } from '../metrics.ts';
import { routeWork } from './route-work.ts';

const Work = suite('the work of routes');

Work('is counted by route and outcome, and not for paths without a route', () => {
  const metrics = new Metrics();
  const requests = metrics.histogram('http.server.request.duration', { boundaries: [1, 2, 4] });
  assert.equal(routeWork(metrics), []);
  const record = (route: string | undefined, status: number, ...seconds: number[]): void => {
    const attributes = { ...(route !== undefined && { 'http.route': route }), 'http.response.status_code': status };
    for (const each of seconds) requests.record(each, attributes);
  };
  record('/a', 200, 0.5, 0.5, 0.5);
  record('/a', 422, 0.5);
  record('/a', 503, 3, 3, 3, 3);
  record('/b/:id', 404, 5);
  record('/b/:id', 499, 5); // the client left
  record(undefined, 404, 1);
  assert.equal(routeWork(metrics), [
    { route: '/a', requests: 8, refused: 1, failed: 4, latency_p50_s: 1, latency_p95_s: 3.8 },
    { route: '/b/:id', requests: 2, refused: 1, failed: 0, latency_p50_s: 4, latency_p95_s: 4 },
  ]);
});

Work.run();
