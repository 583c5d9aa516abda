import { LoadProcess, startServer, type Subject } from '../plugins/processes.ts';
import type { LoadJob } from '../plugins/protocol.ts';
import { sample } from '../plugins/sample.ts';
import type { Configuration } from './servers.ts';

export interface Endpoint {
  readonly name: string;
  readonly path: string;
  /** Requests before the measurement, in which the compilers optimise the code. */
  readonly warmUp: number;
  /** Requests of the measurement. They take long enough for several exports, which a server does every five seconds. */
  readonly requests: number;
}

export interface RoundOptions {
  readonly configurations: readonly Configuration[];
  readonly endpoints: readonly Endpoint[];
  readonly env: NodeJS.ProcessEnv;
  readonly job: Pick<LoadJob, 'body' | 'connections'>;
  /** Longest wait in milliseconds for a calm machine before each measurement. */
  readonly calmMs: number;
  /** Whether the servers take their turns backwards. */
  readonly isReversed: boolean;
}

/** A figure for each endpoint and configuration, by their names. */
export type ByServer = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface Round {
  /** Milliseconds of CPU time, user and system, of the server for a request. */
  readonly cpuMs: ByServer;
  /** Average number of cores that other programs used. */
  readonly otherCores: number;
}

const SCRAPE_EVERY_MS = 1000;
/** A measurement ends with its requests. This ends one whose server hangs. */
const MOST_MS = 300_000;

/**
 * Starts a new process for each configuration and measures it. The warm-up goes over into the measurement: a process
 * without requests shrinks the heaps of its threads after 8 s, which costs more CPU time than what is measured here.
 * Two processes of the same configuration can differ by 5 %, so one round says little.
 */
export async function freshRound(options: RoundOptions): Promise<Round> {
  const { configurations, endpoints, isReversed, calmMs } = options;
  using load = new LoadProcess();
  const cpuMs: Record<string, Record<string, number>> = {};
  const otherCores: number[] = [];
  for (const configuration of isReversed ? configurations.toReversed() : configurations) {
    const env = { ...options.env, ...configuration.env };
    await using subject = await startServer(process.execPath, '../http/app-server', env);
    for (const { name, path, warmUp, requests } of endpoints) {
      const job = { ...options.job, path, as: 'json', ms: MOST_MS, port: subject.port } as const;
      const measured = await whileScraped(configuration, subject, async () => {
        await load.run({ ...job, requests: warmUp });
        return sample(load, subject, calmMs, { ...job, requests });
      });
      (cpuMs[name] ??= {})[configuration.name] = measured.cpuMs;
      otherCores.push(measured.otherCores);
    }
  }
  return { cpuMs, otherCores: otherCores.reduce((sum, one) => sum + one, 0) / otherCores.length };
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
