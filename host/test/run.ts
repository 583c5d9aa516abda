// Runs each test file in a separate process, `AANA_TEST_JOBS` files at once, and ends with one line: `N passed, N
// failed, N skipped`. uvu would run all files in one process, which a native abort ends. It has no time limit, and
// reports success for a file without `.run()`. This runner turns each of these into a failure.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../base/core/package-root.ts';
import { testEnvironment } from './environment.ts';
import { describeFileTimes, longestFirst, readFileTimes, recordFileTimes } from './file-times.ts';
import { withSourcePositions } from './source-positions.ts';

const FILE_TIMEOUT_MS = 600_000;
/** With more jobs at once, the timings of tests would differ from those of a machine with two cores. */
const MAX_JOBS = 2;
/** Further files that begin only while the files that run leave a processor idle. Many wait for timers and servers. */
const SPARE_JOBS = 2;
const IDLE_SAMPLE_MS = 2000;
const IDLE_PROCESSORS = 0.8;
/**
 * V8 of Node 20 compiles functions for speed early, which in processes as short as those of tests costs more CPU time
 * than it saves: 5 to 8 % of the whole. Later versions decide by other rules and do not know the option.
 */
const V8_OPTIONS = process.versions.node.startsWith('20.') ? ['--interrupt-budget=600000'] : [];
const CPU_SECONDS = new URL('cpu-seconds.js', import.meta.url).href;
const TEST_FOLDERS = ['host', 'native', 'plugins', 'tools', 'examples'];

interface FileResult {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly problem?: string;
  readonly output: string;
}

/**
 * Returns the test files. A folder with a `package.json` is a separate project, and another test runs its tests like
 * its user would.
 */
function findTests(folder: string): string[] {
  if (!existsSync(folder) || existsSync(join(folder, 'package.json'))) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === 'dist') return [];
    const at = join(folder, entry.name);
    if (entry.isDirectory()) return findTests(at);
    return entry.name.endsWith('.test.ts') ? [at] : [];
  });
}

const count = (output: string, label: string): number | undefined => {
  const match = new RegExp(`^\\s*${label}:\\s+(\\d+)`, 'm').exec(output);
  return match ? Number(match[1]) : undefined;
};

/**
 * Reads the result of a finished test file. `problem` is set if the file must count as failed although uvu does not say
 * so.
 */
export function readResult(output: string, code: number | null, signal: string | null, timedOut: boolean): FileResult {
  const total = count(output, 'Total') ?? 0;
  const passed = count(output, 'Passed') ?? 0;
  const skipped = (count(output, 'Skipped') ?? 0) + (output.match(/^SKIP /gm)?.length ?? 0);
  const failed = total - passed;
  const problem = timedOut
    ? `ran longer than ${FILE_TIMEOUT_MS / 1000} s`
    : signal
      ? `was killed by ${signal}`
      : code !== 0 && failed === 0
        ? `exited with ${code}`
        : total === 0 && skipped === 0
          ? 'ran no test: is `.run()` missing?'
          : undefined;
  return { passed, failed: problem && failed === 0 ? 1 : failed, skipped, output, ...(problem && { problem }) };
}

/** Returns the names of the failed tests, which the end of a run repeats. */
export const failedTests = (output: string): string[] => output.match(/^ +FAIL +.*$/gm) ?? [];

function runFile(file: string, env: NodeJS.ProcessEnv): Promise<FileResult> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...V8_OPTIONS, '--import', CPU_SECONDS, file], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const chunks: Buffer[] = [];
    let timedOut = false;
    child.stdout.on('data', (data: Buffer) => chunks.push(data));
    child.stderr.on('data', (data: Buffer) => chunks.push(data));
    const killGroup = (): void => {
      try {
        if (child.pid) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group has already ended.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup();
    }, FILE_TIMEOUT_MS);
    child.on('error', (error) => chunks.push(Buffer.from(String(error))));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      killGroup(); // ends the processes that a failed test left behind
      resolve(readResult(Buffer.concat(chunks).toString(), code, signal, timedOut));
    });
  });
}

/** Runs `work` with a folder of its own, which it deletes. */
async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-test-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface MeasuredResult extends FileResult {
  /** Not set if the file was killed. */
  readonly cpuSeconds?: number;
}

/** Runs a test file with its own data folder, so that it does not touch the user's database. */
async function runSource(source: string, env: NodeJS.ProcessEnv): Promise<MeasuredResult> {
  const compiled = join(packageRoot, 'dist', source.replace(/\.ts$/, '.js'));
  if (!existsSync(compiled))
    return { passed: 0, failed: 1, skipped: 0, output: '', problem: 'was not compiled: no tsconfig includes it' };
  return withFolder(async (folder) => {
    const [data, cpu] = [join(folder, 'data'), join(folder, 'cpu')];
    await mkdir(data, { mode: 0o700 });
    const result = await runFile(compiled, { ...env, AANA_DATA_DIR: data, AANA_TEST_CPU_FILE: cpu });
    return existsSync(cpu) ? { ...result, cpuSeconds: Number(await readFile(cpu, 'utf8')) } : result;
  });
}

function report(source: string, result: MeasuredResult, seconds: number): void {
  const { passed, failed, skipped, output, problem, cpuSeconds } = result;
  const cpu = cpuSeconds === undefined ? '' : ` (CPU ${cpuSeconds.toFixed(1)} s)`;
  const lines = [
    `${failed > 0 ? 'FAIL' : 'ok  '} ${source}  ${passed} passed${skipped ? `, ${skipped} skipped` : ''}  ` +
      `${seconds.toFixed(1)} s${cpu}`,
    ...(output.match(/^SKIP .*$/gm) ?? []).map((line) => `     ${line}`),
    ...(problem ? [`     ${source} ${problem}`] : []),
    ...(failed > 0 ? [withSourcePositions(output)] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Returns how many files run at once, and how many more while a processor is idle. */
function jobs({ AANA_TEST_JOBS: wanted = '' }: NodeJS.ProcessEnv): {
  readonly regular: number;
  readonly spare: number;
} {
  if (wanted === '') return { regular: Math.min(MAX_JOBS, availableParallelism()), spare: SPARE_JOBS };
  if (!/^[1-9]\d?$/.test(wanted))
    throw new Error(`AANA_TEST_JOBS must be a number from 1 to 99, not ${JSON.stringify(wanted)}`);
  return { regular: Number(wanted), spare: 0 };
}

const idleMs = (): number => cpus().reduce((sum, { times }) => sum + times.idle, 0);

/** Returns true when a processor was idle for a while, and false when `ended` aborts before. */
async function isIdle(ended: AbortSignal): Promise<boolean> {
  while (!ended.aborted) {
    const before = idleMs();
    await delay(IDLE_SAMPLE_MS, undefined, { signal: ended }).catch(() => undefined);
    if (!ended.aborted && idleMs() - before >= IDLE_PROCESSORS * IDLE_SAMPLE_MS) return true;
  }
  return false;
}

/**
 * Returns whether a file runs: its path contains one of the words, if any are given, and no word that begins with `!`.
 */
export function isWanted(file: string, words: readonly string[]): boolean {
  const excluded = words.filter((word) => word.startsWith('!')).map((word) => word.slice(1));
  const included = words.filter((word) => !word.startsWith('!'));
  if (excluded.some((part) => file.includes(part))) return false;
  return included.length === 0 || included.some((part) => file.includes(part));
}

async function main(wanted: readonly string[]): Promise<number> {
  const sources = TEST_FOLDERS.flatMap((folder) => findTests(join(packageRoot, folder)))
    .map((file) => relative(packageRoot, file))
    .filter((file) => isWanted(file, wanted));
  const env = await testEnvironment(process.env);
  const sum = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const times: Record<string, number> = {};
  // Shared by the jobs, each of which takes the next file.
  const waiting = longestFirst(sources, readFileTimes()).values();
  const run = async (source: string): Promise<void> => {
    const startedAt = Date.now();
    const result = await runSource(source, env);
    sum.passed += result.passed;
    sum.failed += result.failed;
    sum.skipped += result.skipped;
    if (result.cpuSeconds !== undefined) times[source] = result.cpuSeconds;
    report(source, result, (Date.now() - startedAt) / 1000);
    if (result.failed > 0) failures.push(`FAIL ${source}`, ...failedTests(result.output));
  };
  const allBegun = new AbortController();
  const job = async (): Promise<void> => {
    for (const source of waiting) await run(source);
    allBegun.abort();
  };
  const { regular, spare } = jobs(env);
  const spareJobs = async (): Promise<void> => {
    const running = new Set<Promise<void>>();
    while (await isIdle(allBegun.signal)) {
      const { value: source } = running.size < spare ? waiting.next() : {};
      if (source === undefined) continue;
      const file = run(source).finally(() => running.delete(file));
      running.add(file);
    }
    await Promise.all(running);
  };
  await Promise.all([...Array.from({ length: regular }, job), spareJobs()]);
  if (sum.passed + sum.failed === 0) {
    sum.failed = 1;
    process.stdout.write(`no test file matches ${wanted.join(' ')}\n`);
  }
  await recordFileTimes(times);
  process.stdout.write(
    `\n${[describeFileTimes(times), ...failures].join('\n')}\n\n${sum.passed} passed, ${sum.failed} failed, ` +
      `${sum.skipped} skipped\n`,
  );
  return sum.failed === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main(process.argv.slice(2));
