import { setTimeout as sleep } from 'node:timers/promises';
import { LoadProcess, startServer, type Subject } from '../plugins/processes.ts';
import type { LoadJob } from '../plugins/protocol.ts';
import { AsyncDisposableStack, sample } from '../plugins/sample.ts';
import type { Configuration } from './servers.ts';

export interface Endpoint {
  readonly name: string;
  readonly path: string;
  /** Requests before the measurement, in which the compilers optimise the code. */
  readonly warmUp: number;
  /** Requests of one slice. */
  readonly requests: number;
}

export interface RoundOptions {
  readonly configurations: readonly Configuration[];
  readonly endpoints: readonly Endpoint[];
  readonly env: NodeJS.ProcessEnv;
  readonly job: Pick<LoadJob, 'body' | 'connections'>;
  /** Measurements of each server and endpoint. */
  readonly slices: number;
  /** Longest wait in milliseconds for a calm machine before each measurement. */
  readonly calmMs: number;
  /** Whether the servers take their turns backwards. */
  readonly isReversed: boolean;
}

/** A figure for each endpoint and configuration, by their names. */
export type ByServer = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface Round {
  /** Milliseconds of CPU time, user and system, of the server for a request, with what it does while others have their turn. */
  readonly cpuMs: ByServer;
  /** Average number of cores that other programs used. */
  readonly otherCores: number;
}

const SCRAPE_EVERY_MS = 1000;
/** Spans wait for up to five seconds, so most of their export comes after a slice, and counts too. */
const SETTLE_MS = 7000;
/** A measurement ends with its requests. This ends one whose server hangs. */
const MOST_MS = 300_000;

interface Running {
  readonly configuration: Configuration;
  readonly subject: Subject;
}

/**
 * Starts a new process for each configuration and measures them in turn, in short slices, so that a change of the
 * machine meets all of them. Two processes of the same configuration can differ by 5 %, so one round says little.
 */
export async function freshRound(options: RoundOptions): Promise<Round> {
  const { configurations, endpoints, slices, isReversed, calmMs } = options;
  using load = new LoadProcess();
  await using stack = new AsyncDisposableStack();
  const servers: Running[] = [];
  for (const configuration of isReversed ? configurations.toReversed() : configurations) {
    const env = { ...options.env, ...configuration.env };
    servers.push({ configuration, subject: stack.use(await startServer(process.execPath, '../http/app-server', env)) });
  }
  const cpuMs: Record<string, Record<string, number>> = {};
  const otherCores: number[] = [];
  for (const { name, path, warmUp, requests } of endpoints) {
    const job = { ...options.job, path, as: 'json', ms: MOST_MS } as const;
    for (const { subject } of servers) await load.run({ ...job, port: subject.port, requests: warmUp });
    const before = await settledUsage(servers);
    const answered = servers.map(() => 0);
    for (let slice = 0; slice < slices; slice += 1)
      for (const [at, { configuration, subject }] of inTurn(servers, slice)) {
        const once = { ...job, port: subject.port, requests };
        const measured = await whileScraped(configuration, subject, () => sample(load, subject, calmMs, once));
        answered[at] = (answered[at] ?? 0) + measured.requests;
        otherCores.push(measured.otherCores);
      }
    const after = await settledUsage(servers);
    const perRequest = servers.map(({ configuration }, at): [string, number] => {
      const used = (after[at] ?? Number.NaN) - (before[at] ?? Number.NaN);
      return [configuration.name, used / (answered[at] ?? Number.NaN)];
    });
    cpuMs[name] = Object.fromEntries(perRequest);
  }
  return { cpuMs, otherCores: otherCores.reduce((sum, one) => sum + one, 0) / otherCores.length };
}

/** Returns the servers with their positions, every second slice backwards. */
function inTurn(servers: readonly Running[], slice: number): [at: number, server: Running][] {
  const all = [...servers.entries()];
  return slice % 2 === 0 ? all : all.toReversed();
}

/** Returns the milliseconds of CPU time of each server so far, when the servers have exported what waited for others. */
async function settledUsage(servers: readonly Running[]): Promise<number[]> {
  await sleep(SETTLE_MS);
  return Promise.all(servers.map(async ({ subject }) => (await subject.usage()).cpuMicroseconds / 1000));
}

/** Runs work while the metrics of a server are read regularly, if its configuration says so. */
async function whileScraped<T>({ isScraped }: Configuration, { port }: Subject, work: () => Promise<T>): Promise<T> {
  if (!isScraped) return work();
  const scrape = async (): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const timer = setInterval(() => void scrape(), SCRAPE_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
