/**
 * Time of choosing the tokens of a step for 1, 8 and 32 sequences with a large vocabulary, on one thread and on several,
 * as JSON on standard output.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/sampling-step.mjs [steps] [threads] > result.json
 */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { buildProgram, cannotBuild } from '../../dist/native/lib/fixtures/test-program.js';

const packageRoot = fileURLToPath(new URL('../..', import.meta.url));
const reason = cannotBuild(packageRoot);
if (reason !== undefined) throw new Error(reason);
const program = buildProgram(packageRoot, 'aana-sampling-step-bench');
const report = JSON.parse(execFileSync(program, process.argv.slice(2), { encoding: 'utf8' }));
const machine = {
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  load: loadavg().map((load) => Math.round(load * 10) / 10),
};
process.stdout.write(`${JSON.stringify({ machine, ...report }, null, 2)}\n`);
