import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CampaignResult, runCampaign } from './campaign.ts';
import type { FaultGroup } from './store-faults.ts';

/** The outcome of one round. */
export interface Round extends Pick<
  CampaignResult,
  'accepted' | 'attempts' | 'lost' | 'events' | 'unknown' | 'lostAnswers' | 'strikes' | 'seconds' | 'problems'
> {
  readonly group: string;
  readonly seed: number;
  readonly at: string;
}

export interface RoundsOptions {
  /** The folder in which the rounds are recorded. A later run continues there. */
  readonly folder: string;
  readonly groups: readonly FaultGroup[];
  /** How often each short and each long fault should happen in total. */
  readonly aims: { readonly short: number; readonly long: number };
  /** How often each fault happens in one round. */
  readonly perRound: { readonly short: number; readonly long: number };
  readonly clients: number;
  readonly seed: number;
  readonly tell: (line: string) => void;
}

/** A long lease, so that a busy machine does not make a host look dead. */
const CALM = { TASK_QUEUE__HEARTBEAT_TIMEOUT: '10' };

/** Returns all rounds so far. */
export async function readRounds(folder: string): Promise<Round[]> {
  const text = await readFile(join(folder, 'rounds.jsonl'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Round);
}

/**
 * Runs rounds until every fault has happened as often as it should. The fault that is furthest behind is next. Returns
 * all rounds.
 */
export async function runRounds({
  folder,
  groups,
  aims,
  perRound,
  clients,
  seed,
  tell,
}: RoundsOptions): Promise<Round[]> {
  await mkdir(folder, { recursive: true });
  const rounds = await readRounds(folder);
  const missing = new Set<string>();
  for (;;) {
    const open = groups
      .filter(({ name }) => !missing.has(name))
      .map((group) => ({ group, aim: group.isLong ? aims.long : aims.short, done: timesOf(rounds, group) }))
      .filter(({ aim, done }) => done < aim)
      .sort((a, b) => a.done / a.aim - b.done / b.aim);
    const [next] = open;
    if (!next) return rounds;
    const { group, aim, done } = next;
    await using faulty = disposable(await group.make());
    if (typeof faulty.value === 'string') {
      tell(`${group.name} is left out: ${faulty.value}`);
      missing.add(group.name);
      continue;
    }
    const { store, hosts, strikes, settings = CALM, beginsAgain = false } = faulty.value;
    const times = Math.min(aim - done, group.isLong ? perRound.long : perRound.short);
    const ownSeed = seed + rounds.length;
    const {
      accepted,
      attempts,
      lost,
      events,
      unknown,
      lostAnswers,
      strikes: counts,
      seconds,
      problems,
    } = await runCampaign({
      ...{ store, hosts, settings, clients, seed: ownSeed },
      strikes: strikes(times),
      runsOnce: !beginsAgain,
    });
    const round: Round = {
      group: group.name,
      seed: ownSeed,
      at: new Date().toISOString(),
      strikes: counts,
      accepted,
      attempts,
      lost,
      events,
      unknown,
      lostAnswers,
      seconds,
      problems,
    };
    rounds.push(round);
    await appendFile(join(folder, 'rounds.jsonl'), `${JSON.stringify(round)}\n`);
    tell(`${group.name}: ${JSON.stringify({ ...round, problems: problems.length })}`);
    for (const problem of problems) tell(problem);
  }
}

function timesOf(rounds: readonly Round[], { name, faults }: FaultGroup): number {
  const own = rounds.filter(({ group }) => group === name);
  return Math.min(...faults.map((fault) => own.reduce((sum, { strikes }) => sum + (strikes[fault] ?? 0), 0)));
}

/** Makes a value usable with `await using` if it may be a text instead. */
function disposable<T extends AsyncDisposable>(value: T | string): AsyncDisposable & { readonly value: T | string } {
  return {
    value,
    [Symbol.asyncDispose]: async () => (typeof value === 'string' ? undefined : value[Symbol.asyncDispose]()),
  };
}
