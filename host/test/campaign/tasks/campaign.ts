import { mkdir, mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { buildPlugin } from '../../../endpoints/plugins/build/build-plugin.ts';
import type { Database, StorageConfig } from '../../../data/storage/index.ts';
import { Random } from '../../simulation/random.ts';
import { checkDeliveries } from './check-deliveries.ts';
import { type Checked, checkTasks } from './check.ts';
import { type Clients, repeat, runClient, send } from './client.ts';
import { HostKeeper } from './host-keeper.ts';
import { BENCH_PLUGIN } from './protocol.ts';
import { Receiver } from './receiver.ts';

/** The database of a campaign. */
export interface CampaignStore {
  readonly title: string;
  /** The configuration with which hosts open it. */
  readonly config: StorageConfig;
  /** Opens it for the campaign itself, without the faults that the hosts meet. */
  readonly open: () => Promise<Database>;
}

/** Strikes the hosts or their database under load. Returns how often each kind of strike happened. */
export type Strikes = (hosts: readonly HostKeeper[], random: Random) => Promise<Readonly<Record<string, number>>>;

export interface CampaignOptions {
  readonly store: CampaignStore;
  /** Number of hosts that share the database. */
  readonly hosts: number;
  readonly strikes: Strikes;
  /** Whether no part that runs tasks is struck, so that each task must be run once. Default: false. */
  readonly runsOnce?: boolean;
  /** Variables of the hosts. Default: none. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly clients: number;
  readonly seed: number;
}

export interface CampaignResult extends Checked {
  readonly seconds: number;
  readonly strikes: Readonly<Record<string, number>>;
  readonly accepted: number;
  /**
   * Number of lost answers whose requests were repeated with the same key, and number of lost answers whose requests
   * were not.
   */
  readonly lostAnswers: number;
  readonly unknown: number;
  /** Number of events that watching clients received. */
  readonly watched: number;
  readonly deadLetters: number;
  /** Number of rows of the outbox, of received deliveries, and of deliveries that were received again. */
  readonly outbox: number;
  readonly deliveries: number;
  readonly repeated: number;
}

/** Time limit for the last tasks to end after the last strike. */
const DRAIN_MS = 180_000;
/** Older than any folder that may belong to a request that is still being accepted. */
const LONG_AGO_S = 7200;
const SWEEP_MS = 10_000;

/** Strikes under load, lets the accepted tasks end, and checks the result. */
export async function runCampaign({
  store,
  hosts: hostCount,
  strikes,
  runsOnce = false,
  settings = {},
  clients: clientCount,
  seed,
}: CampaignOptions): Promise<CampaignResult> {
  const startedAt = performance.now();
  const random = new Random(seed);
  const folder = await mkdtemp(join(tmpdir(), 'aana-task-campaign-'));
  await buildPlugin(BENCH_PLUGIN, { log: silentLogger });
  await mkdir(join(folder, 'temp'));
  const hosts = Array.from({ length: hostCount }, (_, index) => new HostKeeper(folder, index, store.config, settings));
  const clients: Clients = { hosts, random, accepted: [], problems: [], unknown: 0, made: 0 };
  const stopping = new AbortController();
  await using receiver = new Receiver(new Random(seed + 2));
  const target = await receiver.start();
  let keepsFolder = true;
  try {
    for (const host of hosts) {
      await host.start();
      await hosts[0]?.ready(); // it makes the database
    }
    await Promise.all(hosts.map((host) => host.ready()));
    const webhook = await createWebhook(clients, target);
    const load = Promise.all(Array.from({ length: clientCount }, () => runClient(clients, stopping.signal)));
    load.catch(() => {}); // awaited below
    const counts = await strikes(hosts, new Random(seed + 1));
    stopping.abort();
    await load;
    await drained(clients);
    for (const task of clients.accepted)
      if (task.key !== undefined && task.lostAnswers > 0) await repeat(clients, task);
    const retried = await retryDeadLetters(clients);
    receiver.settle();
    await until(
      async () =>
        (
          await answerOf<{ deliveries: unknown[] }>(
            clients,
            `/webhooks/${webhook}/deliveries?status=pending&per_page=1`,
          )
        )?.deliveries.length === 0,
    );
    for (const host of hosts) await host.stop();
    await checkFolders(clients, folder);
    await using database = await store.open();
    const doubled = runsOnce ? await startedTwice(hosts) : [];
    const checked = await checkTasks(database, clients.accepted, retried);
    const delivered = await checkDeliveries(database, receiver.received);
    const own = hosts.flatMap(({ ownEnds }) => ownEnds);
    const orphans = (await Promise.all(hosts.map((host) => host.orphans()))).flat();
    const problems = [
      ...own,
      ...orphans.map((pid) => `process ${pid} has outlived its host`),
      ...clients.problems,
      ...doubled,
      ...checked.problems,
      ...delivered.problems,
    ];
    keepsFolder = problems.length > 0;
    return {
      ...checked,
      problems: keepsFolder ? [...problems, `logs of the hosts: ${folder}`] : problems,
      seconds: Math.round((performance.now() - startedAt) / 1000),
      strikes: counts,
      accepted: clients.accepted.length,
      lostAnswers: clients.accepted.reduce((sum, { lostAnswers }) => sum + lostAnswers, 0),
      unknown: clients.unknown,
      watched: clients.accepted.reduce((sum, { seen }) => sum + (seen?.length ?? 0), 0),
      deadLetters: retried.size,
      outbox: delivered.outbox,
      deliveries: receiver.received.size,
      repeated: [...receiver.received.values()].filter(({ times }) => times > 1).length,
    };
  } finally {
    stopping.abort();
    for (const host of hosts) await host.stop();
    if (!keepsFolder) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Returns a problem for each task that was begun more than once according to the logs of the hosts. */
async function startedTwice(hosts: readonly HostKeeper[]): Promise<string[]> {
  const starts = new Map<string, number>();
  for (const { logFile } of hosts) {
    const log = await readFile(logFile, 'utf8');
    for (const [, id = ''] of log.matchAll(/ task started task=([0-9a-f-]+) /g))
      starts.set(id, (starts.get(id) ?? 0) + 1);
  }
  return [...starts].flatMap(([id, times]) => (times > 1 ? [`task ${id} was begun ${times} times`] : []));
}

/** Creates a webhook for all events of all users. */
async function createWebhook(clients: Clients, url: string): Promise<string> {
  const answer = await send(clients, '/webhooks', {
    method: 'POST',
    body: JSON.stringify({ url }),
    headers: { 'content-type': 'application/json' },
  });
  if (answer?.status !== 201) throw new Error(`the webhook was not created: ${answer?.status} ${answer?.text}`);
  return (JSON.parse(answer.text) as { id: string }).id;
}

/** Waits until every task has ended. */
function drained(clients: Clients): Promise<void> {
  return until(async () => {
    const {
      total = 0,
      completed = 0,
      failed = 0,
      cancelled = 0,
    } = (await answerOf<Record<string, number>>(clients, '/tasks/count')) ?? {};
    return total > 0 && total === completed + failed + cancelled;
  });
}

/** Waits for the condition, but only until a time limit. The checks report what is still missing then. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + DRAIN_MS;
  while (!(await condition()) && performance.now() < end) await delay(100);
}

async function answerOf<T>(clients: Clients, path: string): Promise<T | undefined> {
  const answer = await send(clients, path);
  return answer?.status === 200 ? (JSON.parse(answer.text) as T) : undefined;
}

/** Retries the tasks that failed because the process of their plugin was killed in all of their attempts. */
async function retryDeadLetters(clients: Clients): Promise<ReadonlySet<string>> {
  const answer = await send(clients, '/tasks/retry?error=PluginUnavailable&limit=1000', { method: 'POST' });
  if (answer?.status !== 200)
    clients.problems.push(`tasks that failed were not retried: ${answer?.status} ${answer?.text}`);
  await drained(clients);
  return new Set(answer?.status === 200 ? (JSON.parse(answer.text) as { task_ids: string[] }).task_ids : []);
}

/**
 * Checks that no files of killed processes are left after a host has started hours later: no upload, and no file of a
 * task that has not failed.
 */
async function checkFolders({ hosts: [host], problems }: Clients, folder: string): Promise<void> {
  const [files, temp] = [join(folder, 'data', 'tasks'), join(folder, 'temp')];
  const longAgo = Date.now() / 1000 - LONG_AGO_S;
  for (const name of await namesIn(files)) await utimes(join(files, name), longAgo, longAgo);
  if (!host) return;
  await host.start();
  await host.ready();
  const until = performance.now() + SWEEP_MS;
  while ((await namesIn(files)).length > 0 && performance.now() < until) await delay(20);
  await host.stop();
  for (const path of [files, temp])
    for (const name of await namesIn(path)) problems.push(`${join(path, name)} was left over`);
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
