import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { AanaApp } from '../app.ts';
import { loadConfig } from '../config/index.ts';
import { silentLogger } from '../core/logger.ts';
import type { Attributes, Telemetry } from '../core/telemetry.ts';
import { SentimentDeployment } from '../deployments/fixtures/sentiment-deployment.ts';

const Reported = suite('what an application reports');

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = `00-${TRACE}-00f067aa0ba902b7-01`;
const INSIDE = `00-${TRACE}-00000000000000aa-01`;

/** Keeps what it is told. */
class Recorder implements Telemetry {
  readonly values: { readonly name: string; readonly value: number; readonly attributes: Attributes }[] = [];
  readonly spans: { readonly name: string; readonly parent: string | undefined; outcome?: unknown }[] = [];

  readonly counter: Telemetry['counter'] = (name) => ({ add: (value = 1, attributes = {}) => void this.values.push({ name, value, attributes }) });
  readonly histogram: Telemetry['histogram'] = (name) => ({ record: (value, attributes = {}) => void this.values.push({ name, value, attributes }) });
  readonly gauge: Telemetry['gauge'] = (name) => ({ set: (value, attributes = {}) => void this.values.push({ name, value, attributes }) });
  readonly span: Telemetry['span'] = (name, { parent } = {}) => {
    const span: Recorder['spans'][number] = { name, parent };
    this.spans.push(span);
    return { traceparent: INSIDE, end: (outcome) => void (span.outcome = outcome) };
  };

  of(name: string): { readonly value: number; readonly attributes: Attributes }[] {
    return this.values.filter((one) => one.name === name).map(({ value, attributes }) => ({ value, attributes }));
  }
}

Reported('are requests and calls of deployments, whose spans go on in the replica', async () => {
  const telemetry = new Recorder();
  const config = loadConfig({ cwd: '/', env: process.env, base: { task_queue: { enabled: false } } });
  await using app = new AanaApp({ config, log: silentLogger, progress: { write: () => true }, telemetry });
  app.registerDeployment('sentiment', SentimentDeployment.options({}));
  const sentiment = () => app.handle(SentimentDeployment, 'sentiment');
  const place = { name: 'facts', path: '/facts', summary: 'Facts', input: z.strictObject({ fail: z.boolean() }), output: z.unknown() };
  app.registerEndpoint({ ...place, run: ({ fail }, context) => (fail ? sentiment().fail({ how: 'inference' }, context) : sentiment().facts({}, context)) });
  await app.connect({ port: 0, show_logs: false });
  await app.deploy();
  const ask = async (fail: boolean): Promise<Response> => {
    const body = new FormData();
    body.set('body', JSON.stringify({ fail }));
    return fetch(`${app.url}/facts`, { method: 'POST', body, headers: { traceparent: CALLER } });
  };
  assert.is(((await (await ask(false)).json()) as { traceparent: string }).traceparent, INSIDE);
  assert.is((await ask(true)).status, 500);
  await fetch(`${app.url}/made/up`);

  const calls = telemetry.of('aana.deployment.calls').map(({ attributes }) => attributes);
  assert.equal(calls, [
    { 'aana.deployment': 'sentiment', 'aana.method': 'facts', 'aana.outcome': 'ok' },
    { 'aana.deployment': 'sentiment', 'aana.method': 'fail', 'aana.outcome': 'deployment' },
  ]);
  for (const name of ['aana.deployment.call.duration', 'aana.deployment.call.wait']) {
    assert.is(telemetry.of(name).length, 2, name);
    assert.ok(telemetry.of(name).every(({ value }) => value >= 0 && value < 60), 'in seconds');
  }
  assert.equal(telemetry.of('aana.deployment.calls.open').map(({ value }) => value), [1, 0, 1, 0]);
  assert.equal(telemetry.spans.map(({ name, parent }) => [name, parent]), [['aana.deployment.call', CALLER], ['aana.deployment.call', CALLER]]);
  assert.equal(
    telemetry.of('http.server.request.duration').map(({ attributes }) => [attributes['http.response.status_code'], attributes['http.route']]),
    [
      [200, '/facts'],
      [500, '/facts'],
      [404, undefined],
    ],
  );
});

Reported.run();
