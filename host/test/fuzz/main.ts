// Fuzzes a server with requests made from its OpenAPI document: `npm run fuzz:http -- --runs 500 --seed 1 --url
// http://127.0.0.1:8000 --only transcribe_video`. Without a URL it starts an application with endpoints of many kinds,
// and checks its log, too.
import { parseArgs } from 'node:util';
import { startVariedApp } from '../helpers/varied-app.ts';
import { fuzz } from './fuzz.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    seed: { type: 'string' },
    runs: { type: 'string', default: '300' },
    only: { type: 'string', multiple: true },
    plugins: { type: 'string', multiple: true },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const varied = values.url === undefined ? await startVariedApp({ plugins: values.plugins ?? [] }) : undefined;
const url = values.url?.replace(/\/+$/, '') ?? varied?.url ?? '';
let read = 0;

process.stdout.write(`fuzzing ${url} with --seed ${seed}\n`);
const failures = await fuzz({
  ...{ url, seed, runs: Number(values.runs), only: values.only },
  otherwise: () => {
    const lines = varied?.logged.slice(read) ?? [];
    read += lines.length;
    return lines
      .filter((line) => line.includes('"request failed"'))
      .map((line) => `the log reports a failure: ${line.trim()}`);
  },
  onOperation: ({ id }, answers) =>
    void process.stdout.write(
      `${id}: ${Object.entries(answers)
        .map(([status, count]) => `${count} × ${status}`)
        .join(', ')}\n`,
    ),
});
for (const { operation, complaints, curl } of failures)
  process.stdout.write(`\n${operation}\n${complaints.map((text) => `  ${text}\n`).join('')}  ${curl}\n`);
process.stdout.write(failures.length === 0 ? 'no failures\n' : `\n${failures.length} operations failed\n`);
await varied?.[Symbol.asyncDispose]();
process.exitCode = failures.length === 0 ? 0 : 1;
