// Measures the cost of durable tasks and prints one JSON object. It measures tasks that do nothing, many at once and
// one at a time on an idle queue, on SQLite and PostgreSQL, beside pg-boss on the same PostgreSQL. Queues run in
// separate processes. The rounds take them in turn, and ratios are medians of pairs. It also measures claims while
// tasks of many users wait. `npm run bench:tasks -- [--rounds N] [--tasks N] [--callers N] [--samples N] [--claims N]`
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../base/config/index.ts';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../data/storage/fixtures/databases.ts';
import { cpuSeconds, descendants } from '../test/helpers/server.ts';
import { installForBench } from './install-npm.ts';
import { machineLoad, reportHead, round } from './report.ts';
import { type ClaimTimes, measureClaims } from './tasks/claims.ts';
import { type FromQueue, type QueueArguments, type QueueJob, type QueueResult, WORKERS } from './tasks/protocol.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '2000' },
    callers: { type: 'string', default: '64' },
    samples: { type: 'string', default: '40' },
    claims: { type: 'string', default: '100' },
  },
});
/** This version needs Node 22.12 or later. */
const PG_BOSS = '12.30.0';
const PAUSE_MS = 100;
/** Numbers of users whose tasks wait while claims are measured. */
const WAITING_USERS = [100, 20_000];

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
}
const median = (values: readonly number[]): number => at(values, 0.5);

interface Subject extends AsyncDisposable {
  readonly name: string;
  run(job: QueueJob): Promise<QueueResult>;
}

async function start(name: string, script: string, given: QueueArguments): Promise<Subject> {
  const child = fork(new URL(`tasks/${script}.js`, import.meta.url), [JSON.stringify(given)], {
    execArgv: ['--enable-source-maps'],
  });
  const first = await told(child);
  if (first.type === 'failed') throw new Error(`${name}: ${first.reason}`);
  return {
    name,
    run: async (job) => {
      const answer = told(child);
      child.send(job);
      const message = await answer;
      if (message.type !== 'result')
        throw new Error(`${name}: ${message.type === 'failed' ? message.reason : message.type}`);
      return message.result;
    },
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit');
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

async function told(child: ChildProcess): Promise<FromQueue> {
  const heard = new AbortController();
  const ended = once(child, 'exit', { signal: heard.signal }).then(([code]) => [
    { type: 'failed', reason: `it exited with ${code}` },
  ]);
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: heard.signal }), ended])) as [FromQueue];
    return message;
  } finally {
    ended.catch(() => {}); // rejected by the abort below
    heard.abort();
  }
}

/** Returns the CPU time of the running processes of the PostgreSQL server, including those of the connections. */
async function postgresCpuSeconds(): Promise<number> {
  const servers = (await descendants(process.pid)).filter(({ command }) => command.includes('postgres'));
  return (await Promise.all(servers.map(({ pid }) => cpuSeconds(pid)))).reduce((sum, seconds) => sum + seconds, 0);
}

interface Sample extends QueueResult {
  readonly serverCpuMicroseconds: number;
}

async function measured(subject: Subject, job: QueueJob): Promise<Sample> {
  const before = await postgresCpuSeconds();
  const result = await subject.run(job);
  return { ...result, serverCpuMicroseconds: Math.max(0, ((await postgresCpuSeconds()) - before) * 1e6) };
}

const notes: string[] = [];
const [rounds, tasks, callers, samples] = [flags.rounds, flags.tasks, flags.callers, flags.samples].map(Number) as [
  number,
  number,
  number,
  number,
];
const folder = await mkdtemp(join(tmpdir(), 'aana-bench-tasks-'));
const loadBefore = machineLoad();
const subjects: Subject[] = [];
const databases: TestDatabases[] = [sqliteDatabases()];
const results: unknown[] = [];
const claims: Record<string, ClaimTimes[]> = {};
try {
  const [sqlite] = databases as [TestDatabases];
  subjects.push(
    await start('aana-host, SQLite', 'aana-queue', { database: await sqlite.create(), folder: join(folder, 'sqlite') }),
  );
  const postgres = await postgresDatabases({ isDurable: true });
  if (typeof postgres === 'string') {
    notes.push(`PostgreSQL was left out: ${postgres}`);
  } else {
    databases.push(postgres);
    subjects.push(
      await start('aana-host, PostgreSQL', 'aana-queue', {
        database: await postgres.create(),
        folder: join(folder, 'postgresql'),
      }),
    );
    try {
      subjects.push(
        await start('pg-boss', 'pg-boss-queue', {
          database: await postgres.create(),
          folder,
          module: await installForBench(loadConfig().cache_dir, [`pg-boss@${PG_BOSS}`]),
        }),
      );
    } catch (error) {
      notes.push(`pg-boss was left out: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
    }
  }
  const throughput = new Map<string, Sample[]>(subjects.map(({ name }) => [name, []]));
  const pickUps = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
  for (let number = -1; number < rounds; number += 1) {
    // The first round is a warm-up. Every second round goes backwards.
    for (const subject of number % 2 === 0 ? subjects : subjects.toReversed()) {
      const sample = await measured(subject, { type: 'throughput', tasks, callers });
      if (number >= 0) throughput.get(subject.name)?.push(sample);
      const { pickUpMs } = await subject.run({ type: 'latency', samples, pauseMs: PAUSE_MS });
      if (number >= 0) pickUps.get(subject.name)?.push(...pickUpMs);
    }
  }
  const theirs = throughput.get('pg-boss') ?? [];
  for (const { name } of subjects) {
    const mine = throughput.get(name) ?? [];
    const picked = pickUps.get(name) ?? [];
    results.push({
      name,
      tasksPerSecond: Math.round(median(mine.map(({ seconds }) => tasks / seconds))),
      cpuMicrosecondsPerTask: round(median(mine.map(({ cpuMicroseconds }) => cpuMicroseconds / tasks)), 0),
      serverCpuMicrosecondsPerTask: round(
        median(mine.map(({ serverCpuMicroseconds }) => serverCpuMicroseconds / tasks)),
        0,
      ),
      pickUpMs: {
        p50: round(median(picked), 1),
        p95: round(at(picked, 0.95), 1),
        p99: round(at(picked, 0.99), 1),
        most: round(at(picked, 1), 1),
      },
      ...(theirs.length > 0 &&
        name !== 'pg-boss' && {
          tasksPerSecondBesidePgBoss: round(
            median(mine.map(({ seconds }, index) => (theirs[index]?.seconds ?? Number.NaN) / seconds)),
            2,
          ),
        }),
    });
  }
  for (const one of databases) claims[one.title] = await measureClaims(one, WAITING_USERS, Number(flags.claims));
} finally {
  for (const subject of subjects) await subject[Symbol.asyncDispose]();
  for (const one of databases) await one.end();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
const report = {
  ...reportHead('tasks', loadBefore),
  pgBoss: PG_BOSS,
  rounds,
  ...{ tasks, callers, workers: WORKERS, samples },
  results,
  claims,
  notes,
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
