import { calm } from './plugins/calm.ts';
import { median, round } from './report.ts';

export type Figures = Readonly<Record<string, number>>;

/** A server that is measured beside others. The first one of a list is ours. */
export interface Competitor {
  readonly name: string;
  /** Measures one round. Round 0 warms up and does not count. */
  run(round: number): Promise<Figures>;
}

export interface RoundsOptions {
  readonly rounds: number;
  /** Waits before each measurement until other programs are idle, at most so long. */
  readonly calmMs: number;
}

/** Figures of a server in each round, or why it has none. */
type Results = Map<string, Figures[] | string>;

/**
 * Runs all servers in turn, every second round backwards. Returns for each server the medians of its figures and
 * `oursByTheirs`, the medians of the ratios of the same round. A server that fails takes no further part.
 */
export async function pairedRounds(
  competitors: readonly Competitor[],
  { rounds, calmMs }: RoundsOptions,
): Promise<Record<string, object>> {
  const results: Results = new Map();
  for (let number = 0; number <= rounds; number += 1)
    for (const { name, run } of number % 2 === 1 ? competitors : competitors.toReversed()) {
      const before = results.get(name) ?? [];
      if (typeof before === 'string') continue;
      await calm(calmMs);
      const figures = await run(number).catch((error: unknown) => String(error));
      results.set(name, typeof figures === 'string' ? figures : number === 0 ? [] : [...before, figures]);
    }
  const first = competitors[0]?.name ?? '';
  const ours = results.get(first) ?? [];
  const described = competitors.map(({ name }) => {
    const figures = results.get(name) ?? [];
    if (typeof figures === 'string') return [name, { failed: figures }];
    return [name, { ...medians(figures), ...(name !== first && ratios(ours, figures)) }];
  });
  return Object.fromEntries(described) as Record<string, object>;
}

function medians(figures: readonly Figures[]): Figures {
  const names = Object.keys(figures[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, round(median(figures.map((one) => one[name] ?? Number.NaN)))]));
}

function ratios(ours: readonly Figures[] | string, theirs: readonly Figures[]): object {
  if (typeof ours === 'string') return {};
  const names = Object.keys(theirs[0] ?? {});
  const ratio = (figure: string): number =>
    round(median(theirs.map((one, index) => (ours[index]?.[figure] ?? Number.NaN) / (one[figure] ?? Number.NaN))));
  return { oursByTheirs: Object.fromEntries(names.map((figure) => [figure, ratio(figure)])) };
}
