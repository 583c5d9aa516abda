import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { buildProgram, cannotBuild } from '../../dist/native/lib/fixtures/test-program.js';

/**
 * Builds a program in C++, passes it the arguments of this script, and writes its JSON with facts about the machine.
 */
export function reportProgram(name) {
  const packageRoot = fileURLToPath(new URL('../..', import.meta.url));
  const reason = cannotBuild(packageRoot);
  if (reason !== undefined) throw new Error(`${name} cannot be built: ${reason}`);
  const output = execFileSync(buildProgram(packageRoot, name), process.argv.slice(2), { encoding: 'utf8' });
  const load = loadavg().map((each) => Math.round(each * 10) / 10);
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, load };
  process.stdout.write(`${JSON.stringify({ machine, ...JSON.parse(output) }, null, 2)}\n`);
}
