import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../../base/core/log/logger.ts';
import { type ClaimedTask, type Database, migrate, type Outcome, Repositories } from '../../data/storage/index.ts';
import { SqliteDatabase } from '../../data/storage/sqlite/sqlite-database.ts';
import { SeenLeases } from '../../data/tasks/seen-leases.ts';
import { endLost } from '../../data/tasks/sweeper.ts';
import { Random } from './random.ts';

export interface LeaseResult {
  /** Violated invariants; empty if there are none. */
  readonly violations: readonly string[];
  readonly statistics: {
    tasks: number;
    attempts: number;
    lost: number;
    late: number;
    jumps: number;
    adopted: number;
    repeated: number;
  };
}

const LEASE_MS = 1000;
/** Most time that a host counts between two looks at the leases. */
const MOST_UNSEEN_MS = LEASE_MS;
const MAX_ATTEMPTS = 4;
const STEPS = 300;

/** A host that claims tasks, and may pause or die while it has them. */
interface Worker {
  readonly owner: string;
  readonly held: Map<string, ClaimedTask>;
  /** The step until which it does nothing. Such a pause is longer than its leases. */
  pausedUntil: number;
  /** Whether the answer to a claim was lost. The host may then have tasks that it does not know. */
  isInDoubt: boolean;
  readonly leases: SeenLeases;
  /** The time of its last look at the leases, by a clock that does not jump. */
  lookedAt: number;
}

/**
 * Runs one schedule with the real queue in SQLite: hosts claim, run, lose and finish tasks, with pauses, deaths and
 * clock jumps. The same seed gives the same run.
 */
export async function runLeases(seed: number, modulePath: string): Promise<LeaseResult> {
  const dir = await mkdtemp(join(tmpdir(), 'aana-leases-'));
  const clock = { now: 1_000_000_000_000 };
  const database = await SqliteDatabase.open({
    path: join(dir, 'tasks.db'),
    modulePath,
    readers: 1,
    timeoutMs: 5000,
    now: () => clock.now,
  });
  try {
    await migrate(database);
    const run = new LeaseRun(database, clock, new Random(seed));
    await run.all();
    return { violations: run.violations, statistics: run.statistics };
  } finally {
    await database.close();
    await rm(dir, { recursive: true, force: true });
  }
}

class LeaseRun {
  readonly violations: string[] = [];
  readonly statistics = { tasks: 0, attempts: 0, lost: 0, late: 0, jumps: 0, adopted: 0, repeated: 0 };
  readonly #database: Database;
  readonly #clock: { now: number };
  readonly #random: Random;
  #workers: Worker[] = [];
  /** The time by a clock that does not jump. */
  #now = 0;
  #step = 0;
  #hosts = 0;
  /** The newest lease token, and the stored result, of each task. */
  readonly #tokens = new Map<string, number>();
  readonly #results = new Map<string, string>();

  constructor(database: Database, clock: { now: number }, random: Random) {
    this.#database = database;
    this.#clock = clock;
    this.#random = random;
  }

  async all(): Promise<void> {
    for (let count = 0; count < 3; count += 1) this.#workers.push(this.#newWorker());
    for (; this.#step < STEPS; this.#step += 1) await this.#act();
    await this.#calmDown();
  }

  #newWorker(): Worker {
    this.#hosts += 1;
    return {
      owner: `host-${this.#hosts}`,
      held: new Map(),
      pausedUntil: 0,
      isInDoubt: false,
      leases: new SeenLeases(),
      lookedAt: this.#now,
    };
  }

  #write<T>(work: (repositories: Repositories) => Promise<T>): Promise<T> {
    return this.#database.write((connection) => work(new Repositories(connection)));
  }

  async #act(): Promise<void> {
    const random = this.#random;
    this.#pass(random.int(0, LEASE_MS / 4));
    if (random.chance(0.02)) this.#jump();
    const worker = this.#workers[random.int(0, this.#workers.length - 1)];
    if (!worker) return;
    if (random.chance(0.02)) {
      this.#workers = this.#workers.map((one) => (one === worker ? this.#newWorker() : one)); // it died with its tasks
      return;
    }
    if (worker.pausedUntil > this.#step) return;
    if (random.chance(0.03)) {
      worker.pausedUntil = this.#step + random.int(5, 60); // it wakes up and continues without noticing the pause
      return;
    }
    switch (random.int(0, 6)) {
      case 0:
        return this.#enqueue();
      case 1:
        return this.#claim(worker);
      case 2:
        return this.#beat(worker);
      case 3:
        for (const one of this.#workers) if (one.pausedUntil <= this.#step) await this.#sweep(one);
        return;
      default:
        return this.#goOn(worker);
    }
  }

  #pass(ms: number): void {
    this.#now += ms;
    this.#clock.now += ms;
  }

  async #sweep(worker: Worker): Promise<void> {
    const sinceMs = Math.min(this.#now - worker.lookedAt, MOST_UNSEEN_MS);
    worker.lookedAt = this.#now;
    const held = await this.#write(({ tasks }) => tasks.held());
    const lost = worker.leases.look(held, sinceMs).filter(({ id }) => !worker.held.has(id));
    await endLost({ write: (work) => this.#write(work) }, lost, silentLogger);
  }

  /** Sets the clock of the database forward or back by more than a lease. */
  #jump(): void {
    this.statistics.jumps += 1;
    this.#clock.now += Math.round(this.#random.between(-5, 5) * LEASE_MS);
  }

  async #enqueue(): Promise<void> {
    this.statistics.tasks += 1;
    const task = {
      id: `task-${this.statistics.tasks}`,
      endpoint: '/e',
      data: '{}',
      files: [],
      priority: this.#random.int(0, 2),
      user_id: null,
      timeout_ms: 1,
      max_attempts: MAX_ATTEMPTS,
      idempotency_key: null,
      request_hash: '',
    };
    await this.#write(({ tasks }) => tasks.enqueue(task));
  }

  async #claim(worker: Worker): Promise<void> {
    if (worker.isInDoubt) await this.#adopt(worker);
    const isUnheard = this.#random.chance(0.1);
    const claimed = await this.#write(({ tasks }) =>
      tasks.claim({
        owner: worker.owner,
        endpoints: ['/e'],
        limit: 2,
        leaseMs: LEASE_MS,
        activeOfUser: 1,
      }),
    );
    for (const task of claimed) {
      this.statistics.attempts += 1;
      const before = this.#tokens.get(task.id) ?? 0;
      if (task.lease_token <= before)
        this.violations.push(`${task.id}: token ${task.lease_token} was given after ${before}`);
      if (task.num_retries > MAX_ATTEMPTS)
        this.violations.push(`${task.id}: attempt ${task.num_retries} of ${MAX_ATTEMPTS}`);
      if (this.#results.has(task.id)) this.violations.push(`${task.id} was taken although it had ended`);
      this.#tokens.set(task.id, task.lease_token);
      if (!isUnheard) worker.held.set(task.id, task);
    }
    worker.isInDoubt = isUnheard;
  }

  /** Adopts tasks like a host does before its next claim, if it did not get the answer to the last one. */
  async #adopt(worker: Worker): Promise<void> {
    for (const task of await this.#write(({ tasks }) => tasks.adopt(worker.owner, [...worker.held.keys()]))) {
      this.statistics.adopted += 1;
      if (this.#tokens.get(task.id) !== task.lease_token)
        this.violations.push(`${task.id}: token ${task.lease_token} was adopted although another one was given`);
      if (this.#results.has(task.id)) this.violations.push(`${task.id} was adopted although it had ended`);
      worker.held.set(task.id, task);
    }
  }

  async #beat(worker: Worker): Promise<void> {
    const kept = await this.#write(({ tasks }) => tasks.heartbeat(worker.owner, [...worker.held.keys()]));
    for (const [id, { lease_token: token }] of worker.held) {
      const isNewest = this.#tokens.get(id) === token;
      if (kept.get(id) === token && !isNewest)
        this.violations.push(`${id}: token ${token} was kept alive although a newer one was given`);
      if (kept.get(id) === token) continue;
      this.statistics.lost += 1;
      worker.held.delete(id);
    }
  }

  /** Ends one of the attempts that a worker believes to have. */
  async #goOn(worker: Worker): Promise<void> {
    const held = [...worker.held.values()];
    const task = held[this.#random.int(0, held.length - 1)];
    if (!task) return;
    worker.held.delete(task.id);
    const outcome = this.#outcome(task);
    const stored = await this.#write(({ tasks }) => tasks.finish(task, outcome));
    const isNewest = this.#tokens.get(task.id) === task.lease_token;
    if (!stored) {
      this.statistics.late += 1;
      return;
    }
    if (!isNewest) this.violations.push(`${task.id}: token ${task.lease_token} wrote after a newer one was given`);
    if (outcome.kind === 'release') return;
    if (this.#results.has(task.id)) this.violations.push(`${task.id} ended twice`);
    this.#results.set(task.id, outcome.kind === 'complete' ? outcome.result : outcome.error);
    if (!this.#random.chance(0.2)) return;
    this.statistics.repeated += 1; // its commit could not be confirmed, so it is repeated
    if (!(await this.#write(({ tasks }) => tasks.finish(task, outcome))))
      this.violations.push(`${task.id}: the repetition of its end was not recognised`);
  }

  #outcome(task: ClaimedTask): Outcome {
    const chance = this.#random.next();
    const mark = JSON.stringify({ token: task.lease_token });
    if (chance < 0.7) return { kind: 'complete', result: mark };
    if (chance < 0.8 || task.num_retries >= task.max_attempts) return { kind: 'fail', error: mark };
    return { kind: 'release', error: mark, delayMs: this.#random.int(0, 500), outcome: 'not_finished' };
  }

  /** Checks that with one good host and without faults every task ends and has the stored result. */
  async #calmDown(): Promise<void> {
    const worker = this.#newWorker();
    this.#workers = [worker];
    for (let round = 0; round < 10_000; round += 1) {
      this.#pass(LEASE_MS);
      await this.#beat(worker);
      await this.#sweep(worker);
      await this.#claim(worker);
      while (worker.held.size > 0) await this.#goOn(worker);
      const counts = await this.#write(({ tasks }) => tasks.count(null));
      if (!counts.created && !counts.not_finished && !counts.assigned && !counts.running) return this.#compare();
    }
    this.violations.push('some tasks never ended');
  }

  async #compare(): Promise<void> {
    const all = await this.#write(({ tasks }) => tasks.list(null, { limit: 10_000, offset: 0 }));
    if (all.length !== this.statistics.tasks)
      this.violations.push(`${all.length} tasks are left of ${this.statistics.tasks}`);
    for (const { id, status, result } of all) {
      const stored = this.#results.get(id);
      const isLost = status === 'failed' && result?.includes('HeartbeatTimeoutError') === true && stored === undefined;
      if (!isLost && result !== stored)
        this.violations.push(`${id} is ${status} with ${result}, but ${stored} was stored`);
    }
  }
}
