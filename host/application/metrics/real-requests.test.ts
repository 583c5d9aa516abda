// Real requests change the metrics of a real application, and Prometheus' own program accepts the page.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { startOpenAiApp } from '../../apis/openai/fixtures/openai-app.ts';
import { LlamaTextGenerationDeployment } from 'aana-host';
import { labelName, sampleName } from '../../base/telemetry/index.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { makeFolder } from '../fixtures/test-app.ts';
import { describedMetrics } from './described-metrics.ts';
import { buildTestPlugin } from '../../endpoints/plugins/fixtures/build-test-plugin.ts';

const Requests = suite('the metrics of real requests');
const folder = makeFolder();
Requests.after(() => rmSync(folder, { recursive: true, force: true }));

const SOURCE = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
const count = defineEndpoint({
  name: 'count', path: '/count', summary: '', input: z.strictObject({ text: z.string() }),
  output: z.int(), uses: ['storage'],
  async run({ text }, { storage }) { await storage.set('last', text); return text.length; },
});
export const endpoint = definePlugin([count]);
`;

async function counter(): Promise<string> {
  const plugin = join(folder, 'counter');
  mkdirSync(join(plugin, 'src'), { recursive: true });
  const manifest = { name: 'counter', version: '1.0.0', capabilities: ['storage'] };
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'src/index.ts'), SOURCE);
  await buildTestPlugin(plugin);
  return plugin;
}

/** The samples of a page: their values by name and labels. */
type Samples = ReadonlyMap<string, number>;

const samplesOf = (page: string): Samples =>
  new Map(
    page
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

/** Checks that every sample belongs to a documented metric and has only its labels. */
function assertDocumented(samples: Samples): void {
  const metrics = describedMetrics().flatMap((part) => part.metrics);
  const labels = new Map(metrics.map((metric) => [sampleName(metric), metric.attributes.map(labelName)]));
  labels.set('target_info', ['service_name']);
  for (const [sample] of samples) {
    const [name = '', rest = ''] = sample.split('{', 2);
    const known = labels.get(name) ?? labels.get(name.replace(/_(bucket|sum|count)$/, ''));
    assert.ok(known, `${sample} is not documented`);
    for (const [, label = ''] of rest.matchAll(/(\w+)="/g))
      assert.ok(label === 'le' || known.includes(label), `${label} of ${sample} is not documented`);
  }
}

if (cannotRun) skip('the metrics of real requests', cannotRun);
else {
  Requests('count a plugin, a chat, a task and refused requests, and are documented', async () => {
    const plugin = await counter();
    await using at = await startOpenAiApp({
      config: {
        api_service: { enabled: true },
        data_dir: join(folder, 'data'),
        rate_limits: { endpoints: { '/v1/models': { capacity: 1, interval_seconds: 600 } } },
      },
      prepare: (app, tiny) => {
        app.registerPlugins(plugin);
        app.registerDeployment(
          'watched',
          LlamaTextGenerationDeployment.options({
            health_check_period_s: 0.2,
            user_config: { model_id: tiny, model_kwargs: { n_ctx: 512, n_threads: 1, n_seq_max: 1 } },
          }),
        );
      },
    });
    const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann', is_admin: true });
    const key = { 'x-api-key': apiKey };
    const page = async (): Promise<string> => (await fetch(`${at.url}/metrics`, { headers: key })).text();
    const chat = (stream: boolean): Promise<Response> =>
      at.post(
        '/v1/chat/completions',
        { model: 'watched', messages: [{ role: 'user', content: 'Once' }], max_tokens: 5, stream },
        key,
      );

    assert.is((await at.post('/count', { text: 'four' }, key)).status, 200);
    assert.is((await at.post('/count', { text: 'four' })).status, 401);
    for (const stream of [false, true]) await (await chat(stream)).text();
    assert.is((await at.post('/count?defer=true', { text: 'five' }, key)).status, 200);
    for (const status of [200, 429]) assert.is((await fetch(`${at.url}/v1/models`, { headers: key })).status, status);
    const model = 'gen_ai_provider_name="aana",gen_ai_request_model="watched"';
    const chatted = `gen_ai_operation_name="chat",${model}`;
    const requests = 'http_server_request_duration_seconds_count{http_request_method="POST",url_scheme="http"';
    const ofPlugin = 'aana_plugin="counter"';
    const expected = {
      [`${requests},http_route="/count",http_response_status_code="401"}`]: 1,
      [`${requests},http_route="/v1/chat/completions",http_response_status_code="200"}`]: 2,
      'aana_rate_limit_refusals_total{aana_rate_limit_policy="/v1/models"}': 1,
      [`aana_plugin_invocation_duration_seconds_count{${ofPlugin},aana_plugin_endpoint="count",aana_outcome="ok"}`]: 2,
      [`aana_plugin_call_duration_seconds_count{${ofPlugin},aana_operation="storage.set-text",aana_outcome="ok"}`]: 2,
      'aana_deployment_calls_total{aana_deployment="watched",aana_method="chat",aana_outcome="ok"}': 1,
      'aana_deployment_calls_total{aana_deployment="watched",aana_method="chat_stream",aana_outcome="ok"}': 1,
      'aana_deployment_replicas{aana_deployment="watched",aana_replica_state="ready"}': 1,
      [`gen_ai_server_request_duration_seconds_count{${chatted}}`]: 2,
      [`gen_ai_server_time_to_first_token_seconds_count{${chatted}}`]: 1,
      [`gen_ai_server_time_per_output_token_seconds_count{${chatted}}`]: 1,
      [`gen_ai_client_token_usage_count{${chatted},gen_ai_token_type="input"}`]: 2,
      [`gen_ai_client_token_usage_sum{${chatted},gen_ai_token_type="output"}`]: 10,
      'aana_tasks_accepted_total{aana_endpoint="/count"}': 1,
      'aana_tasks_ended_total{aana_endpoint="/count",aana_task_status="completed"}': 1,
    };
    const isIn = (samples: Samples): boolean =>
      Object.entries(expected).every(([sample, value]) => samples.get(sample) === value);
    // The engine reports with its health checks, and the task runs later.
    await until(async () => {
      const samples = samplesOf(await page());
      return isIn(samples) && (samples.get('aana_engine_tokens_generated_total{aana_deployment="watched"}') ?? 0) >= 10;
    }).catch(async () => {
      const samples = samplesOf(await page());
      assert.equal(Object.fromEntries(Object.keys(expected).map((name) => [name, samples.get(name)])), expected);
    });
    const text = await page();
    assertDocumented(samplesOf(text));
    assert.not.match(text, /Once|four|five/);
    checkWithPromtool(text);
  });
}

/** Fails if `promtool check metrics` finds anything in a page. */
function checkWithPromtool(page: string): void {
  const { error, status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: page, encoding: 'utf8' });
  if (error) return skip('promtool check metrics', 'promtool is not installed (Debian: prometheus)');
  assert.equal([status, stderr], [0, '']);
}

Requests.run();
