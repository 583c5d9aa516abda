import { readFile } from 'node:fs/promises';
import { delay } from '../../base/core/abort.ts';
import { descendants } from '../../test/helpers/server.ts';

/** Returns the CPU seconds of this process, of its children that have ended, and of those that run (Linux). */
export async function cpuOfTree(): Promise<number> {
  const running = await descendants(process.pid);
  const [own, ...others] = await Promise.all(['self', ...running.map(({ pid }) => String(pid))].map(ticks));
  return ((own ?? 0) + others.reduce((sum, one) => sum + one, 0)) / 100;
}

async function ticks(pid: string): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' ? 0 : fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}

/** Runs `work`. Returns by how many MiB the resident memory of this process and its children grew at most (Linux). */
export async function peakOfTree(work: () => Promise<unknown>): Promise<number> {
  const resident = async (): Promise<number> => {
    const pids = [process.pid, ...(await descendants(process.pid)).map(({ pid }) => pid)];
    const pages = pids.map(async (pid) => (await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')).split(' ')[1]);
    return (await Promise.all(pages)).reduce((sum, one) => sum + Number(one ?? 0), 0) / 256;
  };
  const before = await resident();
  let peak = before;
  let isDone = false;
  const watching = (async () => {
    for (; !isDone; await delay(20)) peak = Math.max(peak, await resident());
  })();
  await work().finally(() => (isDone = true));
  await watching;
  return Math.max(0, peak - before);
}
