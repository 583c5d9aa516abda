// Measures what must not grow, prints it beside the budgets of `budgets.json`, and fails where a value is over its
// budget; CPU time may be a fifth over it, because machines differ. Run after `npm test`, whose times it reads. A value
// that was not measured is a failure, too. A budget is raised by a commit that says why.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lockedPackages, NOT_INSTALLED } from '../dist/tools/release/locked-packages.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const budgets = JSON.parse(readFileSync(join(root, 'tools/budgets.json'), 'utf8'));
const cli = join(root, 'bundle/host/cli/main.js');
const MB = 1024 * 1024;
/** Of the times in `/proc`. */
const TICKS_PER_SECOND = 100;

const files = (folder, ending) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true })
        .filter((name) => name.endsWith(ending))
        .map((name) => join(root, folder, name))
    : [];
const megabytes = (paths) => paths.reduce((sum, path) => sum + statSync(path).size, 0) / MB;

/** Returns the CPU seconds and the peak of the resident memory of `aana-host --version`, the least of five runs. */
function version() {
  const usage = `process.on('exit', () => { const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    process.stderr.write(JSON.stringify([(userCPUTime + systemCPUTime) / 1e6, maxRSS / 1024])); })`;
  const preload = `data:text/javascript,${encodeURIComponent(usage)}`;
  const runs = Array.from({ length: 5 }, () => {
    const shell = '"$0" --import "$1" "$2" --version 2>&1 >/dev/null';
    return JSON.parse(execFileSync('sh', ['-c', shell, process.execPath, preload, cli], { encoding: 'utf8' }));
  });
  return [0, 1].map((i) => Math.min(...runs.map((run) => run[i])));
}

/** Returns the CPU seconds and the resident memory of a server without deployments, right after it is deployed. */
async function serve() {
  const folder = mkdtempSync(join(tmpdir(), 'aana-budgets-'));
  const args = ['serve', '--host', '127.0.0.1', '--port', '0', '--no-dashboard', '--data-dir', join(folder, 'data')];
  const env = { ...process.env, AANA_RUNTIME_DIR: join(folder, 'run') };
  writeFileSync(join(folder, 'aana.config.json'), '{ "deployments": {} }');
  const server = spawn(process.execPath, [cli, ...args], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let output = '';
    for await (const text of server.stderr.setEncoding('utf8')) {
      output += text;
      if (output.includes('Deployed successfully.')) break;
    }
    if (!output.includes('Deployed successfully.')) throw new Error(`the server ended: ${output}`);
    const stat = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    const [, memory] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'));
    return [(Number(stat[11]) + Number(stat[12])) / TICKS_PER_SECOND, Number(memory) / 1024];
  } finally {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Returns the CPU seconds of the test files of the last run, the slowest first. */
function testTimes() {
  const recorded = join(root, '.aana/test-times.json');
  if (!existsSync(recorded)) return [];
  return Object.values(JSON.parse(readFileSync(recorded, 'utf8'))).sort((a, b) => b - a);
}

/** Returns the files of a package, without those of packages inside it. */
const filesOf = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesOf(path);
    return entry.isFile() ? [path] : [];
  });

/** Returns the packages that an installation of a release gets on this machine. */
async function installedPackages() {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !NOT_INSTALLED.has(name));
  return [...(await lockedPackages(names)).keys()].map((path) => join(root, path)).filter((path) => existsSync(path));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

const [versionCpu, versionMemory] = version();
const [serveCpu, serveMemory] = await serve();
const times = testTimes();
const measured = {
  'version: CPU seconds': versionCpu,
  'version: MB': versionMemory,
  'serve without deployments: CPU seconds': serveCpu,
  'serve without deployments: MB': serveMemory,
  'bundle: MB': megabytes(files('bundle', '.js')),
  'packages for serving: MB': megabytes((await installedPackages()).flatMap(filesOf)),
  'addon: compile steps': files('build/cmake/CMakeFiles', '.o').length, // without the programs of the tests
  'addon: MB': megabytes(files('build/Release', 'aana_native.node')),
  'suite: CPU minutes': sum(times) / 60,
  'slowest test file: CPU seconds': times[0] ?? 0,
  'ten slowest test files: CPU seconds': sum(times.slice(0, 10)),
  'words of ARCHITECTURE.md': readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split(/\s+/).filter(Boolean).length,
};

let isOver = false;
for (const [name, budget] of Object.entries(budgets)) {
  const value = measured[name];
  const limit = /CPU/.test(name) ? budget * 1.2 : budget;
  const verdict = value === 0 ? 'NONE' : value > limit ? 'OVER' : 'ok  '; // NONE: nothing was measured
  if (verdict !== 'ok  ') isOver = true;
  const [of, is] = [String(budget), value.toFixed(Number.isInteger(value) ? 0 : 2)];
  process.stdout.write(`${verdict} ${name.padEnd(42)} ${is.padStart(9)} of ${of}\n`);
}
process.exitCode = isOver ? 1 : 0;
