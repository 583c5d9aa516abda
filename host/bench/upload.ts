// Measures the cost of an upload for the server and prints one JSON object: memory before, at most and after,
// throughput and CPU time (Linux). `npm run bench:upload -- [--mib N] [--rounds N]`
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { packageRoot } from '../core/package-root.ts';
import { startServer } from './plugins/processes.ts';
import { measureUpload, type UploadMeasured } from './upload/measure.ts';

const { values: flags } = parseArgs({
  options: { mib: { type: 'string', default: '1024' }, rounds: { type: 'string', default: '3' } },
});

const uploads: UploadMeasured[] = [];
await using server = await startServer(process.execPath, '../upload/server', process.env);
for (let round = 0; round < Number(flags.rounds); round++) uploads.push(await measureUpload(server, Number(flags.mib)));

const report = {
  benchmark: 'upload',
  date: new Date().toISOString(),
  commit: execFileSync('git', ['describe', '--always', '--dirty'], { cwd: packageRoot, encoding: 'utf8' }).trim(),
  machine: {
    node: process.version,
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    load: loadavg().map((one) => Number(one.toFixed(1))),
  },
  uploads,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
