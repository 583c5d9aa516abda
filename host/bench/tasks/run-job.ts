import { deferred } from '../../base/core/deferred.ts';
import type { FromQueue, QueueArguments, QueueJob, QueueResult } from './protocol.ts';

/** A queue that is measured. Its tasks only call `onRun`. */
export interface MeasuredQueue {
  /** Resolves when the task `n` is stored. */
  add(n: number): Promise<void>;
  /** Returns the number of tasks stored as completed. */
  completed(): Promise<number>;
  onRun: (n: number) => void;
  close(): Promise<void>;
}

const LOOK_MS = 5;

/** Runs the jobs that the benchmark's process sends to this one. */
export async function serveJobs(open: (given: QueueArguments) => Promise<MeasuredQueue>): Promise<void> {
  const queue = await open(JSON.parse(process.argv[2] ?? '') as QueueArguments);
  let made = 0;
  const send = (message: FromQueue): unknown => process.send?.(message);
  process.on('message', (job: QueueJob) => {
    const count = job.type === 'throughput' ? job.tasks : job.samples;
    const from = made;
    made += count;
    const work = job.type === 'throughput' ? throughput(queue, from, job) : latency(queue, from, job);
    work.then(
      (result) => send({ type: 'result', result }),
      (error: unknown) =>
        send({ type: 'failed', reason: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
  process.on('disconnect', () => void queue.close().finally(() => process.exit(0)));
  send({ type: 'ready' });
}

async function throughput(
  queue: MeasuredQueue,
  from: number,
  { tasks, callers }: QueueJob & { readonly type: 'throughput' },
): Promise<QueueResult> {
  const done = deferred();
  let [runs, next] = [0, from];
  queue.onRun = () => {
    runs += 1;
    if (runs === tasks) done.resolve();
  };
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    while (next < from + tasks) await queue.add(next++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  await done.promise;
  while ((await queue.completed()) < from + tasks) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  const seconds = (performance.now() - startedAt) / 1000;
  return { seconds, pickUpMs: [], cpuMicroseconds: cpuSince(before) };
}

async function latency(
  queue: MeasuredQueue,
  from: number,
  { samples, pauseMs }: QueueJob & { readonly type: 'latency' },
): Promise<QueueResult> {
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const pickUpMs: number[] = [];
  for (let n = from; n < from + samples; n += 1) {
    const running = deferred<number>();
    queue.onRun = () => running.resolve(performance.now());
    await queue.add(n);
    const acceptedAt = performance.now();
    // It may run before its caller learns that it was accepted.
    pickUpMs.push(Math.max(0, (await running.promise) - acceptedAt));
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
  }
  return { seconds: (performance.now() - startedAt) / 1000, pickUpMs, cpuMicroseconds: cpuSince(before) };
}

function cpuSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
