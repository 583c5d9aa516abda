// Compares the files of examples/operating with what the server has: metrics, routes, settings and times.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../base/config/index.ts';
import { SETTINGS } from '../../base/config/settings.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { skip } from '../skip.ts';

const folder = join(packageRoot, 'examples/operating');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const Operating = suite('the files of examples/operating');

/** Names in Prometheus of all documented metrics, with the suffixes that histograms have. */
function documentedMetrics(): Set<string> {
  const text = readFileSync(join(packageRoot, 'docs/metrics.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `[^`]+` \| `([^`]+)` \| (counter|gauge|histogram) \|/gm)];
  assert.ok(rows.length > 40, 'the metrics were not found');
  return new Set(
    rows.flatMap(([, name = '', kind]) =>
      kind === 'histogram' ? ['_bucket', '_count', '_sum'].map((suffix) => name + suffix) : [name],
    ),
  );
}

/** Returns the metrics that a query of Prometheus reads. */
function metricsOf(query: string): string[] {
  const bare = query
    .replaceAll(/"[^"]*"|\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|on|without|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/\b[a-z_][a-z0-9_]*\b(?!\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !['and', 'or', 'unless', 'up'].includes(name));
}

Operating('dashboards and alerts read only metrics that the server reports', () => {
  const documented = documentedMetrics();
  const dashboards = readdirSync(join(folder, 'grafana/dashboards')).flatMap((file) => {
    const { panels } = JSON.parse(read(`grafana/dashboards/${file}`)) as {
      panels: readonly { targets: readonly { expr: string }[] }[];
    };
    return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  });
  const rules = [...read('prometheus/aana-host.rules.yml').matchAll(/^ +expr: (?:>-((?:\n {10}.*)+)|(.*))$/gm)].map(
    ([, folded, line]) => folded ?? line ?? '',
  );
  assert.ok(dashboards.length >= 12 && rules.length >= 7, `${dashboards.length} panels, ${rules.length} rules`);
  const unknown = [...dashboards, ...rules].flatMap((query) => {
    const names = metricsOf(query);
    assert.ok(names.length > 0 || query.startsWith('up'), query);
    return names.filter((name) => !documented.has(name));
  });
  assert.equal(unknown, []);
  assert.equal(metricsOf('sum by (le) (rate(made_up_bucket{a="b"}[5m])) > 1'), ['made_up_bucket']);
});

Operating('each alert of Prometheus fires for its trouble after its time, and none for a healthy server', () => {
  const { error, status, stderr } = spawnSync('promtool', ['test', 'rules', 'aana-host.rules.test.yml'], {
    cwd: join(folder, 'prometheus'),
    encoding: 'utf8',
  });
  if (error) return skip('promtool test rules', 'promtool is not installed (Debian: prometheus)');
  assert.equal([status, stderr], [0, '']);
  const names = (file: string, key: string): Set<string> =>
    new Set([...read(file).matchAll(new RegExp(`${key}: (\\w+)`, 'g'))].map(([, name = '']) => name));
  assert.equal(
    names('prometheus/aana-host.rules.test.yml', 'alertname'),
    names('prometheus/aana-host.rules.yml', 'alert'),
    'a rule without a test',
  );
});

Operating('probes ask routes that the server has', () => {
  const surface = readFileSync(join(packageRoot, 'host/test/public-surface/surface.json'), 'utf8');
  const text = read('kubernetes/base/deployment.yaml') + read('Containerfile');
  const routes = new Set(
    [...text.matchAll(/(?:path: |\}|\$\{process\.env\.AANA_PORT\})(\/(?:livez|readyz))\b/g)].map(([, at]) => at),
  );
  assert.equal([...routes].sort(), ['/livez', '/readyz']);
  for (const route of routes) assert.match(surface, route ?? '');
});

Operating('variables are settings of the server', () => {
  const known = new Set(SETTINGS.flatMap(({ env }) => env));
  const files = ['Containerfile', 'systemd/aana-host.service', 'compose.yaml', 'kubernetes/base/deployment.yaml'];
  const names = files.flatMap((file) =>
    [...read(file).matchAll(/\b(AANA_[A-Z_]+|DB_CONFIG)\b/g)].map(([name]) => name),
  );
  assert.ok(names.length > 15, 'the variables were not found');
  assert.equal(
    names.filter((name) => !known.has(name) && name !== 'DB_CONFIG'),
    [],
  );
});

Operating('the unit of systemd starts the command that the package has', () => {
  const { bin } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    bin: { 'aana-host': string };
  };
  const unit = readFileSync(join(packageRoot, 'examples/operating/systemd/aana-host.service'), 'utf8');
  assert.is(/[a-z]+\/host\/cli\/main\.js/.exec(unit)?.[0], bin['aana-host']);
});

Operating('services stop later than the server lets requests finish', () => {
  const { shutdown_grace_s: grace } = loadConfig({ env: {}, cwd: folder });
  const seconds = (file: string, pattern: RegExp): number => Number(pattern.exec(read(file))?.[1]);
  assert.ok(seconds('systemd/aana-host.service', /^TimeoutStopSec=(\d+)$/m) > grace);
  assert.ok(seconds('compose.yaml', /stop_grace_period: (\d+)s/) > grace);
  const ofPods = seconds('kubernetes/base/aana.config.json', /"shutdown_grace_s": (\d+)/);
  const preStop = seconds('kubernetes/base/deployment.yaml', /command: \[sleep, '(\d+)'\]/);
  assert.ok(seconds('kubernetes/base/deployment.yaml', /terminationGracePeriodSeconds: (\d+)/) > ofPods + preStop);
});

Operating('the configuration for Kubernetes is valid', () => {
  const config = loadConfig({ env: {}, cwd: folder, file: join(folder, 'kubernetes/base/aana.config.json') });
  assert.is(config.task_queue.enabled, false);
});

Operating.run();
