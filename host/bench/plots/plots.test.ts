// The pictures of docs/benchmarks.md show the reports beside them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { barsOf, PLOTS, type Report, specificationOf } from './plots.ts';
import { loadDrawing } from './draw.ts';

const Plots = suite('pictures of benchmarks');
const folder = join(packageRoot, 'docs/figures');
const reports = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({ name, report: JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report }));
const plotOf = (report: Report) => PLOTS[report.benchmark]!;

Plots('each report has a picture that docs/benchmarks.md shows', () => {
  const text = readFileSync(join(packageRoot, 'docs/benchmarks.md'), 'utf8');
  for (const { name, report } of reports) {
    assert.ok(plotOf(report), name);
    assert.ok(text.includes(`(figures/${name.replace('.json', '.svg')})`), name);
    assert.ok(text.includes(plotOf(report).command), name);
  }
});

Plots('a report has bars for each of its servers, and none for one that failed', () => {
  const [{ report } = { report: undefined }] = reports;
  assert.ok(report);
  const scenarios = report.scenarios.map((one) => ({
    ...one,
    servers: { ...one.servers, other: { failed: 'no port' } },
  }));
  const bars = barsOf({ ...report, scenarios }, plotOf(report));
  assert.equal(bars, barsOf(report, plotOf(report)));
  const figures = new Set(bars.map(({ server, figure }) => `${server}: ${figure}`));
  for (const server of Object.keys(report.scenarios[0]!.servers))
    assert.ok(
      [...figures].some((figure) => figure.startsWith(`${server}:`)),
      server,
    );
});

// Needs npm to install Vega.
const draw = await loadDrawing(process.env['AANA_CACHE_DIR'] ?? '').catch(() => undefined);
if (draw === undefined) process.stdout.write('SKIP pictures are up to date: npm cannot install Vega\n');
else
  for (const { name, report } of reports)
    Plots(`${name} is what its picture shows`, async () => {
      const picture = join(folder, name.replace('.json', '.svg'));
      assert.ok(existsSync(picture), `run npm run plot:benchmarks, because ${picture} is missing`);
      const drawn = await draw(specificationOf(report, plotOf(report)));
      assert.ok(readFileSync(picture, 'utf8') === drawn, 'run npm run plot:benchmarks, because the report has changed');
    });

Plots.run();
