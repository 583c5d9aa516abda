import { cpus } from 'node:os';
import * as z from 'zod';
import type { Metrics } from '../metrics.ts';
import { quantile } from './quantile.ts';
import { totalOf, type WorkTotals, workTotals } from './work-totals.ts';

export const LoadSample = z
  .object({
    time: z.string().meta({ format: 'date-time' }),
    requests_per_s: z.number().min(0),
    failed_per_s: z.number().min(0).describe('Requests that were answered with a status of 500 or above.'),
    latency_p50_s: z.number().nullable().describe('Null without requests.'),
    latency_p95_s: z.number().nullable(),
    // A mean, because engines report every few seconds.
    tokens_per_s: z.number().min(0).describe('Tokens of answers of language models, a mean of some seconds.'),
    busy_cores: z.number().min(0).describe('Cores of the machine that were busy, with all its programs.'),
    cores: z.int(),
    memory_used_bytes: z.int().min(0).describe('Main memory that programs use.'),
    memory_limit_bytes: z.int().min(0),
  })
  .describe('The load of the host and its machine since the sample before.');
type LoadSample = Readonly<z.output<typeof LoadSample>>;

export interface LoadHistoryOptions {
  readonly metrics: Pick<Metrics, 'read'>;
  /** Returns the free and the whole main memory in bytes. `free` is undefined where the system does not tell. */
  readonly memory: () => { readonly free: number | undefined; readonly limit: number };
  /** Time between two samples, in milliseconds. */
  readonly intervalMs: number;
  /** Most samples that are kept. */
  readonly limit: number;
}

/** Samples of one mean of tokens. */
const TOKEN_SAMPLES = 5;

interface Look {
  readonly at: number;
  readonly work: WorkTotals;
  readonly cpu: CpuTimes;
}

/** The last samples of the load of a host, one each `intervalMs`. */
export class LoadHistory {
  readonly #options: LoadHistoryOptions;
  readonly #samples: LoadSample[] = [];
  /** The last looks at the totals, the newest last. */
  readonly #looks: Look[];
  readonly #timer: NodeJS.Timeout;

  constructor(options: LoadHistoryOptions) {
    this.#options = options;
    this.#looks = [this.#look()];
    this.#timer = setInterval(() => this.#sample(), options.intervalMs).unref();
  }

  /** Returns the samples, the oldest first. */
  list(): readonly LoadSample[] {
    return [...this.#samples];
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): Look {
    return { at: performance.now(), work: workTotals(this.#options.metrics), cpu: cpuTimes() };
  }

  #sample(): void {
    const { memory, limit } = this.#options;
    const { free, limit: whole } = memory();
    const now = this.#look();
    const [first = now] = this.#looks;
    const sample = {
      ...rates(this.#looks.at(-1) ?? now, now),
      tokens_per_s: Math.max(0, now.work.tokens - first.work.tokens) / secondsBetween(first, now),
      memory_used_bytes: free === undefined ? 0 : whole - free,
      memory_limit_bytes: whole,
    };
    this.#looks.push(now);
    if (this.#looks.length > TOKEN_SAMPLES) this.#looks.shift();
    this.#samples.push(sample);
    if (this.#samples.length > limit) this.#samples.shift();
  }
}

function secondsBetween(before: Look, now: Look): number {
  return Math.max((now.at - before.at) / 1000, 1e-3);
}

function rates(before: Look, now: Look): Omit<LoadSample, 'tokens_per_s' | 'memory_used_bytes' | 'memory_limit_bytes'> {
  const seconds = secondsBetween(before, now);
  const durations = now.work.durations.map((count, bucket) => count - (before.work.durations[bucket] ?? 0));
  const busy = now.cpu.busy - before.cpu.busy;
  const elapsed = busy + now.cpu.idle - before.cpu.idle;
  return {
    time: new Date().toISOString(),
    requests_per_s: totalOf(durations) / seconds,
    failed_per_s: (now.work.failed - before.work.failed) / seconds,
    latency_p50_s: quantile(0.5, now.work.boundaries, durations),
    latency_p95_s: quantile(0.95, now.work.boundaries, durations),
    busy_cores: elapsed > 0 ? (busy / elapsed) * now.cpu.cores : 0,
    cores: now.cpu.cores,
  };
}

interface CpuTimes {
  /** Milliseconds of all cores since the start of the machine. */
  readonly busy: number;
  readonly idle: number;
  readonly cores: number;
}

function cpuTimes(): CpuTimes {
  const each = cpus().map(({ times }) => times);
  const idle = each.reduce((sum, times) => sum + times.idle, 0);
  const all = each.reduce((sum, { user, nice, sys, idle: none, irq }) => sum + user + nice + sys + none + irq, 0);
  return { busy: all - idle, idle, cores: each.length };
}
