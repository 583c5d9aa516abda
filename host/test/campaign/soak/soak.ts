// A real application under mixed load. Now and then the load rests, and the memory, descriptors, files and processes of
// the host are compared with those of before.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { SQLITE_READERS } from '../../../data/storage/storage.ts';
import { buildPlugin } from '../../../endpoints/plugins/build/build-plugin.ts';
import { until } from '../../helpers/server.ts';
import { Random } from '../../simulation/random.ts';
import { residentBytes } from '../speech/replica-memory.ts';
import { BENCH_PLUGIN } from '../tasks/protocol.ts';
import { Receiver } from '../tasks/receiver.ts';
import { SoakHost } from './host.ts';
import type { Memory } from './probe.ts';
import { FEWEST_POINTS, type Slope, slopeOf } from './slope.ts';
import { reload, SOAK_WORKS, type SoakWorld, soakWorld } from './works.ts';

export interface SoakOptions {
  readonly seconds: number;
  /** Seconds of load between two rests. */
  readonly every: number;
  /** Seconds at the beginning whose rests do not count, because compilers and caches are still at work. */
  readonly warmUp: number;
  readonly clients: number;
  /** Mean pause of a client between two requests. */
  readonly pauseMs: number;
  readonly seed: number;
  /** Called after each rest. */
  readonly tell?: (rest: Rest) => void;
}

/** What was there while the host rested. */
export interface Rest extends Memory {
  readonly seconds: number;
  readonly requests: number;
  readonly descriptors: number;
  readonly files: number;
  readonly processes: number;
  /** Bytes in memory of all processes that the host started. */
  readonly childrenRss: number;
}

export interface SoakReport {
  readonly rests: readonly Rest[];
  /** Number of requests by kind. */
  readonly requests: Readonly<Record<string, number>>;
  readonly deliveries: number;
  /** Bytes per hour of what the heap holds, inside and outside of it, without machine code. */
  readonly heldPerHour: Slope;
  readonly codePerHour: Slope;
  /** Bytes per hour of the whole process. */
  readonly rssPerHour: Slope;
  readonly problems: readonly string[];
}

/** Time for connections to close, for tasks to end and for their webhooks to arrive. */
const REST_MS = 120_000;
/** The database and its companions come and go. */
const isDatabase = (path: string): boolean => /(^|\/)data\/aana\.db(-\w+)?$/.test(path);
/** SQLite's one writer and its readers. Each is opened when all others are in use for the first time, and stays. */
const DATABASE_CONNECTIONS = 1 + SQLITE_READERS;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-soak-'));
  await buildPlugin(BENCH_PLUGIN, { log: silentLogger });
  const random = new Random(options.seed);
  await using receiver = new Receiver(new Random(options.seed + 1));
  const target = await receiver.start();
  let keeps = true;
  try {
    await using host = await SoakHost.start(folder);
    const report = await new Soak(options, await soakWorld(host, random), receiver).run(target);
    const problems = [...report.problems, ...(await host.stop())];
    keeps = problems.length > 0;
    return { ...report, problems: keeps ? [...problems, `log of the host: ${host.logFile}`] : problems };
  } finally {
    await rm(folder, { recursive: true, force: true });
    if (!keeps) await rm(`${folder}.log`, { force: true });
  }
}

class Soak {
  readonly #options: SoakOptions;
  readonly #world: SoakWorld;
  readonly #receiver: Receiver;
  readonly #problems: string[] = [];
  readonly #requests: Record<string, number> = {};
  readonly #rests: Rest[] = [];
  /** Descriptors by kind, files and processes at the first rest that counts. */
  #before: Left | undefined;
  #deliveries = 0;
  #last: Left | undefined;

  constructor(options: SoakOptions, world: SoakWorld, receiver: Receiver) {
    this.#options = options;
    this.#world = world;
    this.#receiver = receiver;
  }

  async run(target: string): Promise<SoakReport> {
    const { seconds, every, warmUp, tell } = this.#options;
    await this.#createWebhook(target);
    const startedAt = performance.now();
    const elapsed = (): number => (performance.now() - startedAt) / 1000;
    const counted = (): Rest[] => this.#rests.filter((rest) => rest.seconds >= warmUp);
    // On a slow machine the first requests and rests take most of a short time.
    while (elapsed() < seconds || counted().length < FEWEST_POINTS) {
      await this.#load(every * 1000);
      const rest = await this.#rest(elapsed());
      this.#rests.push(rest);
      if (rest.seconds >= warmUp) this.#before ??= this.#last;
      tell?.(rest);
    }
    this.#compare();
    const perHour = (bytes: (rest: Rest) => number): Slope =>
      slopeOf(counted().map((rest) => ({ x: rest.seconds / 3600, y: bytes(rest) })));
    return {
      rests: this.#rests,
      requests: this.#requests,
      deliveries: this.#deliveries,
      heldPerHour: perHour(({ heapUsed, code, external }) => heapUsed - code + external),
      codePerHour: perHour(({ code }) => code),
      rssPerHour: perHour(({ rss }) => rss),
      problems: this.#problems,
    };
  }

  async #createWebhook(url: string): Promise<void> {
    const answer = await fetch(`${this.#world.host.url}/webhooks`, {
      method: 'POST',
      body: JSON.stringify({ url, events: ['task.completed', 'task.failed'] }),
      headers: { 'content-type': 'application/json' },
    });
    if (answer.status !== 201) throw new Error(`the webhook was not created: ${answer.status} ${await answer.text()}`);
  }

  async #load(ms: number): Promise<void> {
    const end = performance.now() + ms;
    const { clients } = this.#options;
    await Promise.all(Array.from({ length: clients }, (_, client) => this.#client(end, client)));
  }

  /** Makes requests one after the other. The first requests of all clients together are one of each kind. */
  async #client(end: number, client: number): Promise<void> {
    const { clients, pauseMs } = this.#options;
    const { random } = this.#world;
    const firsts = this.#rests.length > 0 ? [] : SOAK_WORKS.filter((_, index) => index % clients === client);
    while (performance.now() < end || firsts.length > 0) {
      const work = firsts.shift() ?? chosen(random.next());
      this.#requests[work.name] = (this.#requests[work.name] ?? 0) + 1;
      try {
        await work.run(this.#world);
      } catch (error) {
        this.#problems.push(`${new Date().toISOString()} ${work.name}: ${describe(error)}`);
      }
      if (firsts.length === 0) await delay(random.exponential(pauseMs));
    }
  }

  /** Waits until nothing runs. Then reads what is there. */
  async #rest(seconds: number): Promise<Rest> {
    const { host, tasks } = this.#world;
    const { received } = this.#receiver;
    const outcomes = new Map<string, string>();
    const allArrived = async (): Promise<boolean> => {
      for (const { task, status } of received.values()) outcomes.set(task, status);
      return [...tasks].every((id) => outcomes.has(id));
    };
    await until(allArrived, REST_MS).catch(() => this.#problems.push('webhooks of tasks did not arrive'));
    for (const id of tasks)
      if (outcomes.get(id) !== 'completed') this.#problems.push(`task ${id}: ${outcomes.get(id)}`);
    this.#deliveries += received.size;
    received.clear();
    tasks.clear();
    await reload(host); // each plugin has the number of threads with which it began
    const left = await this.#settled();
    const children = await host.processes();
    const childrenRss = await Promise.all(children.map(({ pid }) => residentBytes(pid)));
    return {
      seconds: Math.round(seconds),
      requests: Object.values(this.#requests).reduce((sum, count) => sum + count, 0),
      ...(await host.memory()),
      descriptors: sum(Object.values(left.descriptors)),
      files: left.files.length,
      processes: left.processes.length,
      childrenRss: sum(childrenRss),
    };
  }

  /** Waits until idle connections and threads have ended: until as little is there as before, or for a while. */
  async #settled(): Promise<Left> {
    const goal = this.#before;
    const end = performance.now() + REST_MS / 4;
    let [last, same] = [await leftOf(this.#world.host), 0];
    while (performance.now() < end) {
      await delay(500);
      const next = await leftOf(this.#world.host);
      same = JSON.stringify(next) === JSON.stringify(last) ? same + 1 : 0;
      last = next;
      const isCalm = goal === undefined ? same >= 8 : differences(goal, next).length === 0;
      if (isCalm) break;
    }
    this.#last = last;
    return last;
  }

  #compare(): void {
    if (!this.#before || !this.#last) return void this.#problems.push('no rest was after the warm-up');
    this.#problems.push(...differences(this.#before, this.#last));
  }
}

/** What a host has open, keeps in its folder and runs. */
interface Left {
  readonly descriptors: Readonly<Record<string, number>>;
  readonly files: readonly string[];
  readonly processes: readonly string[];
}

/** Each reload starts a new process of a plugin, and ends the old one. */
const isOfPlugin = (command: string): boolean => /aana-sandbox|extism\/process\/main/.test(command);

/** Returns the names with numbers, so that one more of a name is another name. */
const numbered = (names: readonly string[]): string[] =>
  names.map((one, n) => `${one} #${names.slice(0, n).filter((other) => other === one).length}`);

async function leftOf(host: SoakHost): Promise<Left> {
  const processes = await host.processes();
  return {
    descriptors: await host.descriptors(),
    files: (await host.files()).filter((path) => !isDatabase(path)),
    processes: numbered(processes.map(({ pid, command }) => (isOfPlugin(command) ? command : `${pid} ${command}`))),
  };
}

/** Returns a line for each thing that was not there before. */
function differences(before: Left, after: Left): string[] {
  const more = Object.entries(after.descriptors).flatMap(([kind, count]) => {
    const most = isDatabase(kind) ? DATABASE_CONNECTIONS : (before.descriptors[kind] ?? 0);
    return count > most ? [`${count} descriptors of ${kind} are open, not ${most}`] : [];
  });
  const added = (was: readonly string[], is: readonly string[]): string[] => is.filter((one) => !was.includes(one));
  return [
    ...more,
    ...added(before.files, after.files).map((path) => `the file ${path} is left`),
    ...added(before.processes, after.processes).map((line) => `the process ${line} is left`),
  ];
}

/** Returns the kind of request that a number from 0 to less than 1 chooses, by weight. */
function chosen(at: number): (typeof SOAK_WORKS)[number] {
  let rest = at * sum(SOAK_WORKS.map(({ weight }) => weight));
  for (const work of SOAK_WORKS) {
    rest -= work.weight;
    if (rest < 0) return work;
  }
  throw new Error(`${at} is not less than 1`);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function describe(error: unknown): string {
  const { message, cause } = error as Error;
  return cause === undefined ? message : `${message}: ${describe(cause)}`;
}
