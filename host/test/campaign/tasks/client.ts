import { delay } from '../../../base/core/abort.ts';
import type { Random } from '../../simulation/random.ts';
import type { HostKeeper } from './host-keeper.ts';
import { type Work, WORKS } from './works.ts';

/** A task that a host has accepted, and what its client knows about it. */
export interface Accepted {
  readonly id: string;
  readonly work: Work;
  readonly n: number;
  readonly key: string | undefined;
  /** Number of answers that were lost before one arrived. */
  readonly lostAnswers: number;
  isCancelled: boolean;
  /** The events, as ids and names, that a client received that watched the task from its beginning to its end. */
  seen: readonly string[] | undefined;
}

/** State that the clients of one run share. */
export interface Clients {
  readonly hosts: readonly HostKeeper[];
  readonly random: Random;
  readonly accepted: Accepted[];
  /** Unexpected answers. */
  readonly problems: string[];
  /** Number of requests without a key whose answer was lost. They may have become tasks. */
  unknown: number;
  made: number;
}

const ENDS = new Set(['completed', 'failed', 'cancelled']);
/**
 * Longer than any silence of a host, and longer than a host searches for a task that may or may not have been stored.
 */
const TIMEOUT_MS = 180_000;

/** Sends requests one after the other and watches each to its end, until it is stopped. */
export async function runClient(clients: Clients, signal: AbortSignal): Promise<void> {
  const { random, accepted } = clients;
  while (!signal.aborted) {
    clients.made += 1;
    const n = clients.made;
    const work = random.pick(WORKS);
    const key = random.chance(0.8) ? `key ${n}` : undefined;
    const [isWatched, isCancelled, isRepeated, cancelAfterMs] = [
      random.chance(0.8),
      random.chance(0.1),
      random.chance(0.2),
      random.exponential(50),
    ];
    const task = await submit(clients, work, n, key);
    if (!task) continue;
    accepted.push(task);
    const watched = isWatched ? watch(clients, task) : undefined;
    if (isCancelled) {
      task.isCancelled = true;
      await delay(cancelAfterMs);
      await send(clients, `/tasks/${task.id}/cancel`, { method: 'POST' });
    }
    if (isRepeated && key !== undefined) await repeat(clients, task);
    await watched;
  }
}

/**
 * Checks that the same request with the same key gives the same task, and that another request with this key is
 * refused.
 */
export async function repeat(clients: Clients, task: Accepted): Promise<void> {
  const again = await submit(clients, task.work, task.n, task.key);
  if (again && again.id !== task.id)
    clients.problems.push(`the key of ${task.id} gave ${again.id} when it was repeated`);
  const other = await requestUntilAnswered(clients, task.work, task.n + 1, task.key);
  if (other?.status !== 409)
    clients.problems.push(`the key of ${task.id} was accepted for another request: ${other?.status} ${other?.text}`);
}

async function submit(clients: Clients, work: Work, n: number, key: string | undefined): Promise<Accepted | undefined> {
  const answer = await requestUntilAnswered(clients, work, n, key);
  if (!answer) return undefined;
  if (answer.status === 200)
    return {
      id: (JSON.parse(answer.text) as { task_id: string }).task_id,
      work,
      n,
      key,
      lostAnswers: answer.lost,
      isCancelled: false,
      seen: undefined,
    };
  clients.problems.push(`${work.path} was answered with ${answer.status} ${answer.text}`);
  return undefined;
}

/** Repeats a request with a key until it is answered. Does not repeat a request without a key whose answer is lost. */
async function requestUntilAnswered(
  clients: Clients,
  work: Work,
  n: number,
  key: string | undefined,
): Promise<{ status: number; text: string; lost: number } | undefined> {
  for (let lost = 0; ;) {
    const form = new FormData();
    form.set('body', JSON.stringify(work.input(n)));
    if (work.part !== undefined && work.file) form.set(work.part, new Blob([new Uint8Array(work.file(n))]), 'a.mp4');
    const answer = await send(clients, `${work.path}?defer=true`, {
      method: 'POST',
      body: form,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
    if (answer && answer.status !== 503) return { ...answer, lost }; // 503: the host is starting or shutting down
    if (!answer) lost += 1;
    if (!answer && key === undefined) {
      clients.unknown += 1;
      return undefined;
    }
    await delay(20);
  }
}

/** Sends a request to any running host. Returns undefined if the host died before it answered. */
export async function send(
  { hosts, random }: Pick<Clients, 'hosts' | 'random'>,
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; text: string } | undefined> {
  const url = await urlOf(hosts, random);
  try {
    const response = await fetch(`${url}${path}`, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if ((error as Error).name === 'TimeoutError') throw error;
    return undefined;
  }
}

/** Follows the events of a task from host to host, each time starting after the last received event. */
async function watch(clients: Clients, task: Accepted): Promise<void> {
  const seen: string[] = [];
  for (let last = 0; ;) {
    const url = await urlOf(clients.hosts, clients.random);
    let text = '';
    try {
      const response = await fetch(`${url}/tasks/${task.id}/events`, { headers: { 'last-event-id': String(last) } });
      if (response.status === 404)
        return void clients.problems.push(`${task.id} was accepted but is not in the database`);
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const [, id, event = ''] = /^id: (\d+)\nevent: (\w+)\n/.exec(block) ?? [];
          if (id === undefined) continue; // the line that keeps the connection alive
          last = Number(id);
          seen.push(`${id} ${event}`);
          if (!ENDS.has(event)) continue;
          task.seen = seen;
          return;
        }
      }
    } catch {
      // The host died.
    }
    await delay(20);
  }
}

async function urlOf(hosts: readonly HostKeeper[], random: Random): Promise<string> {
  const there = hosts.flatMap(({ url }) => (url === undefined ? [] : [url]));
  return there[random.int(0, Math.max(0, there.length - 1))] ?? (await Promise.any(hosts.map((host) => host.ready())));
}
