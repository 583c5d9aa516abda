import { delay } from '../../../core/abort.ts';
import type { Random } from '../../simulation/random.ts';
import type { HostSlot } from './host-slot.ts';
import { type Work, WORKS } from './works.ts';

/** A task that a host has accepted, and what is known of it. */
export interface Accepted {
  readonly id: string;
  readonly work: Work;
  readonly n: number;
  readonly key: string | undefined;
  /** Answers that did not come before the one that did. */
  readonly lostAnswers: number;
  isCancelled: boolean;
  /** What a client saw that watched it from its beginning to its end: ids and names. */
  seen: readonly string[] | undefined;
}

/** What the clients of one run share. */
export interface Clients {
  readonly hosts: readonly HostSlot[];
  readonly random: Random;
  readonly accepted: Accepted[];
  /** What was not answered as it should be. */
  readonly problems: string[];
  /** Requests without a key whose answer was lost: they may have become tasks. */
  unknown: number;
  made: number;
}

const ENDS = new Set(['completed', 'failed', 'cancelled']);
/** Longer than any silence, and than a host looks for a task of which it does not know whether it was stored. */
const TIMEOUT_MS = 180_000;

/** Sends requests one after the other, each watched to its end, until it is stopped. */
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

/** The same request again is the same task, and another one with its key is refused. */
export async function repeat(clients: Clients, task: Accepted): Promise<void> {
  const again = await submit(clients, task.work, task.n, task.key);
  if (again && again.id !== task.id)
    clients.problems.push(`the key of ${task.id} gave ${again.id} when it was repeated`);
  const other = await requestUntilAnswered(clients, task.work, task.n + 1, task.key);
  if (other?.status !== 409)
    clients.problems.push(`the key of ${task.id} was taken for another request: ${other?.status} ${other?.text}`);
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

/** Repeats a request that has a key until it is answered; gives up another one whose answer is lost. */
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
    if (answer && answer.status !== 503) return { ...answer, lost }; // 503: it starts, or shuts down
    if (!answer) lost += 1;
    if (!answer && key === undefined) {
      clients.unknown += 1;
      return undefined;
    }
    await delay(20);
  }
}

/** Sends to any host that is there; undefined when it died before it had answered. */
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

/** Follows the events of a task from host to host, each time from the last one that it has. */
async function watch(clients: Clients, task: Accepted): Promise<void> {
  const seen: string[] = [];
  for (let last = 0; ;) {
    const url = await urlOf(clients.hosts, clients.random);
    let text = '';
    try {
      const response = await fetch(`${url}/tasks/${task.id}/events`, { headers: { 'last-event-id': String(last) } });
      if (response.status === 404) return void clients.problems.push(`${task.id} was accepted, and is not there`);
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const [, id, event = ''] = /^id: (\d+)\nevent: (\w+)\n/.exec(block) ?? [];
          if (id === undefined) continue; // the line that keeps the connection
          last = Number(id);
          seen.push(`${id} ${event}`);
          if (!ENDS.has(event)) continue;
          task.seen = seen;
          return;
        }
      }
    } catch {
      // its host died
    }
    await delay(20);
  }
}

async function urlOf(hosts: readonly HostSlot[], random: Random): Promise<string> {
  const there = hosts.flatMap(({ url }) => (url === undefined ? [] : [url]));
  return there[random.int(0, Math.max(0, there.length - 1))] ?? (await Promise.any(hosts.map((host) => host.ready())));
}
