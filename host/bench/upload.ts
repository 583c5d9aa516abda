// Measures the cost of an upload for the server and prints one JSON object: memory before, at most and after,
// throughput and CPU time (Linux). `npm run bench:upload -- [--mib N] [--rounds N]`
import { parseArgs } from 'node:util';
import { startServer } from './plugins/processes.ts';
import { machineLoad, reportHead } from './report.ts';
import { measureUpload, type UploadMeasured } from './upload/measure.ts';

const { values: flags } = parseArgs({
  options: { mib: { type: 'string', default: '1024' }, rounds: { type: 'string', default: '3' } },
});

const loadBefore = machineLoad();
const uploads: UploadMeasured[] = [];
await using server = await startServer(process.execPath, '../upload/server', process.env);
for (let round = 0; round < Number(flags.rounds); round++) uploads.push(await measureUpload(server, Number(flags.mib)));

const report = { ...reportHead('upload', loadBefore), uploads };
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
