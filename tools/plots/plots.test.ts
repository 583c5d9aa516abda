// The pictures of docs/benchmarks.md show the reports beside them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../host/base/core/package-root.ts';
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

Plots('a report has a bar for each figure of each server', () => {
  for (const { name, report } of reports) {
    const plot = plotOf(report);
    const bars = barsOf(report, plot);
    for (const title of Object.values(plot.figures))
      assert.ok(
        bars.some(({ figure }) => figure === title),
        `${name}: ${title}`,
      );
    const rows = plot.rowsOf(report).filter(({ figures }) => !('failed' in figures));
    for (const { server } of rows)
      assert.ok(
        bars.some((bar) => bar.server === server),
        `${name}: ${server}`,
      );
  }
});

Plots('a server that failed has no bar', () => {
  const head = { benchmark: 'llm', date: '', commit: '', machine: { cores: 2, node: 'v20', loadBefore: [] } };
  const servers = { 'aana-host': { tokensPerSecond: 5, firstTextMs: null }, other: { failed: 'no port' } };
  const report = {
    ...head,
    scenarios: [
      { scenario: '8 at a time', servers },
      { scenario: 'another', servers },
    ],
  };
  const [figure] = Object.values(PLOTS['llm']!.figures);
  assert.equal(barsOf(report, PLOTS['llm']!), [{ scenario: '8', server: 'aana-host', figure, value: 5 }]);
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
