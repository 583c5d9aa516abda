import { calm, machineUsage } from './calm.ts';
import type { LoadProcess, Subject } from './processes.ts';
import type { LoadJob } from './protocol.ts';

/** One measurement of a server. */
export interface Sample {
  readonly requests: number;
  /** CPU time of the server and of its plugins' processes for each request. */
  readonly cpuMs: number;
  /** The part of `cpuMs` in the processes of plugins. Linux counts it in hundredths of a second for each process. */
  readonly sandboxCpuMs: number;
  /** Average number of cores that other programs used. */
  readonly otherCores: number;
  readonly perSecond: number;
  /** Latencies in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Waits for a calm machine, at most `calmMs`, and then measures. Throws if a request fails, or if the process of a
 * plugin ends, because its time is then unknown.
 */
export async function sample(load: LoadProcess, subject: Subject, calmMs: number, job: LoadJob): Promise<Sample> {
  await calm(calmMs);
  const machine = machineUsage();
  const before = await subject.usage();
  const { requests, failed, failure, seconds, p50, p99, cpuMs: loadCpuMs } = await load.run(job);
  const after = await subject.usage();
  if (failed > 0) throw new Error(`${job.path}: ${failed} of ${requests} requests failed: ${failure}`);
  const sandboxCpuMs = (after.sandboxCpuMicroseconds - before.sandboxCpuMicroseconds) / 1000;
  if (sandboxCpuMs < 0) throw new Error(`${job.path}: the process of a plugin ended during the measurement`);
  const cpuMs = (after.cpuMicroseconds - before.cpuMicroseconds) / 1000 + sandboxCpuMs;
  return {
    requests,
    cpuMs: cpuMs / requests,
    sandboxCpuMs: sandboxCpuMs / requests,
    otherCores: machine.othersSince(cpuMs + loadCpuMs),
    perSecond: requests / seconds,
    p50,
    p99,
  };
}

/** Disposes its objects in reverse order. Needed because older versions of Node have no such class. */
export class AsyncDisposableStack implements AsyncDisposable {
  readonly #owned: AsyncDisposable[] = [];

  use<T extends AsyncDisposable>(one: T): T {
    this.#owned.push(one);
    return one;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#owned.toReversed()) await one[Symbol.asyncDispose]();
  }
}
