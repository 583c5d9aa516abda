import { readdir, readFile } from 'node:fs/promises';

/** Returns the CPU milliseconds of each thread of a process, by the thread's id (Linux). */
export async function cpuOfThreads(pid: number): Promise<Map<number, number>> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '')),
  ); // the thread may have ended
  return new Map(threads.map((thread, n) => [Number(thread), Number(times[n]!.split(' ')[0]) / 1e6]));
}
