// A real Prometheus scrapes a real application, answers queries about it, and evaluates the rules of
// examples/operating.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { freePort, until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { makeApp, makeFolder, started } from '../fixtures/test-app.ts';

const Scraped = suite('Prometheus');
const folder = makeFolder();
Scraped.after(() => rmSync(folder, { recursive: true, force: true }));

const RULES = join(packageRoot, 'examples/operating/prometheus/aana-host.rules.yml');
/** Different paths that a client guesses. */
const GUESSES = 10_000;
const AT_ONCE = 50;

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

if (spawnSync('prometheus', ['--version']).error)
  skip('a Prometheus that scrapes an application', 'prometheus is not installed (Debian: prometheus)');
else
  Scraped('takes every sample, evaluates our rules, and sees no series for an unknown path', async () => {
    // Nobody gets the spans, but their traces are sampled.
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/v1/traces' };
    await using app = await started(makeApp(folder, {}, {}, env));
    for (let from = 0; from < GUESSES; from += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, index) => (await fetch(`${app.url}/guess/${from + index}`)).text()),
      );
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [{ job_name: 'aana-host', static_configs: [{ targets: [new URL(app.url ?? '').host] }] }],
    };
    await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config)); // JSON is YAML
    const origin = `http://127.0.0.1:${await freePort()}`;
    const server = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'series')}`,
        `--web.listen-address=${new URL(origin).host}`,
        '--enable-feature=exemplar-storage',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let log = '';
    server.stderr.on('data', (data) => (log += data));
    const ended = once(server, 'exit');
    const api = async <T>(path: string): Promise<T> => {
      const answer = (await (await fetch(`${origin}/api/v1/${path}`)).json()) as { status: string; data: T };
      assert.is(answer.status, 'success');
      return answer.data;
    };
    const query = async (text: string): Promise<readonly Sample[]> =>
      (await api<{ result: readonly Sample[] }>(`query?query=${encodeURIComponent(text)}`)).result;
    try {
      const counted = 'http_server_request_duration_seconds_count{http_response_status_code="404"}';
      await until(async () => (await query(counted).catch(() => [])).length > 0, 60_000);
      const unknown = await query(counted);
      assert.equal(
        unknown.map(({ value: [, value] }) => Number(value)),
        [GUESSES],
        'all unknown paths are one series',
      );
      assert.is(unknown[0]?.metric['http_route'], undefined);
      type Exemplars = { exemplars: { labels: Record<string, string>; value: string }[] }[];
      const exemplars = async () =>
        (
          await api<Exemplars>(
            `query_exemplars?query=http_server_request_duration_seconds_bucket` +
              `&start=${Date.now() / 1000 - 600}&end=${Date.now() / 1000 + 600}`,
          )
        ).flatMap(({ exemplars: some }) => some);
      await until(async () => (await exemplars()).length > 0, 60_000);
      const [exemplar] = await exemplars();
      assert.match(`${exemplar?.labels['trace_id']} ${exemplar?.labels['span_id']}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
      assert.ok(Number(exemplar?.value) > 0);
      const targets = await api<{ activeTargets: { health: string; lastError: string }[] }>('targets');
      assert.equal(
        targets.activeTargets.map(({ health, lastError }) => [health, lastError]),
        [['up', '']],
      );
      const [series] = await query('count({job="aana-host"})');
      assert.ok(Number(series?.value[1]) < 1000, `${series?.value[1]} series`);
      type Rules = { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
      const rules = async (): Promise<Rules['groups'][number]['rules']> =>
        (await api<Rules>('rules')).groups.flatMap((group) => group.rules);
      await until(async () => (await rules()).every(({ health }) => health !== 'unknown'), 60_000);
      const evaluated = await rules();
      assert.ok(evaluated.length > 5);
      assert.equal(
        evaluated.filter(({ health }) => health !== 'ok'),
        [],
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${log}`, { cause: error });
    } finally {
      server.kill();
      await ended;
    }
  });

Scraped.run();
