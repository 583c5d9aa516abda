/** The result of a scenario, as `pairedRounds` returns it for each server. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly servers: Readonly<Record<string, object>>;
}

/** A figure that a scenario must reach. */
interface Floor {
  readonly scenario: string;
  readonly figure: string;
  /** The server whose figures ours are divided by. Absent: the figure is ours alone. */
  readonly by?: string;
  readonly least?: number;
  readonly most?: number;
}

const FLOORS: readonly Floor[] = [
  { scenario: '1 at a time', figure: 'tokensPerSecond', by: 'llama-server', least: 1 },
  { scenario: '8 at a time', figure: 'tokensPerSecond', by: 'llama-server', least: 1.1 },
  { scenario: '32 at a time', figure: 'tokensPerSecond', by: 'llama-server', least: 1.1 },
  ...[1, 8, 32].flatMap((count): Floor[] => [
    { scenario: `${count} at a time`, figure: 'firstTextMs', by: 'llama-server', most: 1 },
    { scenario: `batch of ${count}`, figure: 'tokensPerSecond', by: 'llama-batched-bench', least: 0.95 },
  ]),
  { scenario: '8 at a time', figure: 'tokensPerSecond', by: 'node-llama-cpp', least: 1.5 },
  { scenario: 'long prompt', figure: 'shortFirstTextP95Ms', by: 'llama-server', most: 1 / 20 },
  { scenario: 'long prompt', figure: 'longLoss', most: 0.15 },
  { scenario: '64 conversations', figure: 'reusedPart', least: 0.95 },
  { scenario: 'JSON schema', figure: 'timesFree', most: 1.1 },
];

/** A floor beside what was measured. */
export interface JudgedFloor extends Floor {
  readonly measured: number;
  readonly isMet: boolean;
}

/** Returns the floors of the scenarios that were measured, and whether each is met. */
export function judgedFloors(results: readonly ScenarioResult[]): JudgedFloor[] {
  return FLOORS.flatMap((floor) => {
    const measured = figureOf(results.find(({ scenario }) => scenario === floor.scenario)?.servers, floor);
    if (measured === undefined) return [];
    const isMet = measured >= (floor.least ?? Number.NEGATIVE_INFINITY) && measured <= (floor.most ?? Infinity);
    return [{ ...floor, measured, isMet }];
  });
}

function figureOf(servers: ScenarioResult['servers'] | undefined, { figure, by }: Floor): number | undefined {
  const figures = (name: string): Readonly<Record<string, unknown>> =>
    (servers?.[name] ?? {}) as Readonly<Record<string, unknown>>;
  const value = by === undefined ? figures('aana-host')[figure] : ratioOf(figures(by)['oursByTheirs'], figure);
  return typeof value === 'number' ? value : undefined;
}

const ratioOf = (ratios: unknown, figure: string): unknown => (ratios as Record<string, unknown> | undefined)?.[figure];

/** Returns the floors as lines of text. */
export function describedFloors(floors: readonly JudgedFloor[]): string {
  const line = ({ scenario, figure, by, least, most, measured, isMet }: JudgedFloor): string => {
    const limit = least === undefined ? `at most ${most}` : `at least ${least}`;
    return (
      `${isMet ? 'met   ' : 'MISSED'} ${scenario}: ${figure}${by === undefined ? '' : ` by ${by}'s`} ` +
      `${measured}, ${limit}\n`
    );
  };
  return floors.map(line).join('');
}
