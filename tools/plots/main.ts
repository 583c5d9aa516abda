// Draws docs/figures/*.svg from the reports beside them, which are what the benchmarks printed. `npm run
// plot:benchmarks`.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../host/base/config/index.ts';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { loadDrawing } from './draw.ts';
import { PLOTS, type Report, specificationOf } from './plots.ts';

const folder = join(packageRoot, 'docs/figures');
const draw = await loadDrawing(loadConfig().cache_dir);
for (const file of (await readdir(folder)).filter((name) => name.endsWith('.json'))) {
  const report = JSON.parse(await readFile(join(folder, file), 'utf8')) as Report;
  const plot = PLOTS[report.benchmark];
  if (plot === undefined) continue;
  const picture = join(folder, file.replace(/\.json$/, '.svg'));
  await writeFile(picture, await draw(specificationOf(report, plot)));
  process.stdout.write(`${picture}\n`);
}
