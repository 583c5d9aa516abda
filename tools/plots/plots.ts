// Which figures of a benchmark's report become a picture, and how they are drawn.
/** A report of a benchmark whose servers were measured in turn, as the command printed it. */
export interface Report {
  readonly benchmark: string;
  readonly date: string;
  readonly commit: string;
  readonly machine: {
    readonly cpu?: string;
    readonly cores: number;
    readonly node: string;
    readonly loadBefore: number[];
  };
  readonly model?: string;
}

/** Figures by name. Those that are not numbers make no bar. */
type Figures = Readonly<Record<string, unknown>>;

/** What one server did in one scenario. */
interface Row {
  readonly scenario: string;
  readonly server: string;
  readonly figures: Figures;
}

/** A picture: one panel for each figure, one group of bars for each scenario, one bar for each server. */
interface Plot {
  readonly title: string;
  readonly command: string;
  readonly rowsOf: (report: Report) => readonly Row[];
  /** Names of figures, each with the title of its panel. */
  readonly figures: Readonly<Record<string, string>>;
}

const AT_A_TIME = { '1 at a time': '1', '8 at a time': '8', '32 at a time': '32' };

/**
 * Returns the rows of a report with `scenarios`.
 * @param labels names of the scenarios that are drawn, each with its label; default: all, with their names
 */
function byScenario(labels?: Readonly<Record<string, string>>): Plot['rowsOf'] {
  return (report) =>
    (report as ScenarioReport).scenarios.flatMap(({ scenario, servers }) => {
      const label = labels ? labels[scenario] : scenario;
      if (label === undefined) return [];
      return Object.entries(servers).map(([server, figures]) => ({ scenario: label, server, figures }));
    });
}

interface ScenarioReport extends Report {
  readonly scenarios: readonly { readonly scenario: string; readonly servers: Readonly<Record<string, Figures>> }[];
}

interface HttpReport extends Report {
  readonly asFastAsTheyCan: readonly (Figures & { readonly name: string })[];
  readonly atTheSameRate: { readonly results: readonly (Figures & { readonly name: string })[] };
}

/** Throughput is of the servers at their fastest. Latencies are those at the same rate, where they can be compared. */
function httpRows(report: Report): Row[] {
  const { asFastAsTheyCan, atTheSameRate } = report as HttpReport;
  const atRate = new Map(atTheSameRate.results.map(({ name, p50Ms, p99Ms }) => [name, { p50Ms, p99Ms }]));
  return asFastAsTheyCan.map(({ name, requestsPerSecond, cpuMsPerRequest }) => ({
    scenario: 'no-op',
    server: name,
    figures: { requestsPerSecond, cpuMsPerRequest, ...atRate.get(name) },
  }));
}

interface PluginsReport extends Report {
  readonly runs: readonly {
    readonly results: readonly (Figures & { readonly name: string; readonly connections: number })[];
  }[];
}

const NO_OP = / no-op$/;

/** The no-op endpoints on the first Node, by connections. */
function pluginRows(report: Report): Row[] {
  const [run] = (report as PluginsReport).runs;
  return (run?.results ?? [])
    .filter(({ name }) => NO_OP.test(name))
    .map(({ name, connections, ...figures }) => ({
      scenario: String(connections),
      server: name.replace(NO_OP, ''),
      figures,
    }));
}

interface TasksReport extends Report {
  readonly results: readonly (Figures & { readonly name: string; readonly pickUpMs: Figures })[];
}

const taskRows = (report: Report): Row[] =>
  (report as TasksReport).results.map(({ name, pickUpMs, ...figures }) => ({
    scenario: 'tasks that do nothing',
    server: name,
    figures: { ...figures, pickUpMs: pickUpMs['p50'] },
  }));

/** The picture of each benchmark that has one. */
export const PLOTS: Readonly<Record<string, Plot>> = {
  llm: {
    title: 'Language model server, by requests at a time',
    command: 'npm run bench:llm',
    rowsOf: byScenario(AT_A_TIME),
    figures: {
      tokensPerSecond: 'tokens per second (more is better)',
      cpuMsPerToken: 'CPU ms per token (less is better)',
      firstTextMs: 'ms to the first text (less is better)',
    },
  },
  openai: {
    title: 'OpenAI’s API, by streams at a time',
    command: 'npm run bench:openai',
    rowsOf: byScenario({ 'streams-1': '1', 'streams-8': '8', 'streams-32': '32' }),
    figures: {
      tokensPerSecond: 'tokens per second (more is better)',
      cpuMsPerToken: 'CPU ms per token (less is better)',
      firstTokenMs: 'ms to the first token (less is better)',
    },
  },
  asr: {
    title: 'Speech to text',
    command: 'npm run bench:asr',
    rowsOf: byScenario(),
    figures: {
      cpuPerAudioSecond: 'CPU s per s of audio (less is better)',
      firstTextMs: 'ms to the first text (less is better)',
      peakMemoryMb: 'MB of memory at most (less is better)',
    },
  },
  http: {
    title: 'A request that does nothing',
    command: 'npm run bench:http',
    rowsOf: httpRows,
    figures: {
      requestsPerSecond: 'requests per second (more is better)',
      cpuMsPerRequest: 'CPU ms per request (less is better)',
      p50Ms: 'ms at the same rate (median, less is better)',
      p99Ms: 'ms at the same rate (99th percentile, less is better)',
    },
  },
  plugins: {
    title: 'An endpoint that does nothing, by connections',
    command: 'npm run bench:plugins',
    rowsOf: pluginRows,
    figures: {
      requestsPerSecond: 'requests per second (more is better)',
      cpuMsPerRequest: 'CPU ms per request (less is better)',
    },
  },
  tasks: {
    title: 'Durable tasks',
    command: 'npm run bench:tasks',
    rowsOf: taskRows,
    figures: {
      tasksPerSecond: 'tasks per second (more is better)',
      cpuMicrosecondsPerTask: 'CPU µs per task, queue (less is better)',
      serverCpuMicrosecondsPerTask: 'CPU µs per task, PostgreSQL (less is better)',
      pickUpMs: 'ms until an idle queue starts a task (median, less is better)',
    },
  },
};

interface Bar {
  readonly scenario: string;
  readonly server: string;
  readonly figure: string;
  readonly value: number;
}

/** Returns the bars of a report's picture. A server that failed has none. */
export function barsOf(report: Report, plot: Plot): Bar[] {
  return plot.rowsOf(report).flatMap(({ scenario, server, figures }) =>
    Object.entries(plot.figures).flatMap(([name, figure]) => {
      const value = figures[name];
      return typeof value === 'number' ? [{ scenario, server, figure, value }] : [];
    }),
  );
}

/** Returns a number in few characters. */
function shortText(value: number): string {
  if (value >= 10_000) return `${Math.round(value / 1000)}k`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)}k`;
  return String(Number(value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3)));
}

/** Returns a title and its remark in brackets on two lines, so that it is not wider than a panel with few bars. */
const linesOf = (title: string): string[] => title.replace(/\)$/, '').split(' (');

/** Pixels of a bar, so that its label does not cover the one beside it. */
const BAR_WIDTH = 23;

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

/** Ours are blue; the others are grey and muted, so that the eye finds ours. */
const OUR_COLOURS = ['#2563eb', '#60a5fa', '#93c5fd'];
const OTHER_COLOURS = ['#9ca3af', '#d1a054', '#c9b8d8', '#7aa6a1'];

const isOurs = (server: string): boolean => /^(aana-host|host code|host-code|plugin|component)\b/.test(server);

/** Returns the servers in the order of their bars, ours first, each with its colour. */
function coloured(servers: readonly string[]): { readonly domain: string[]; readonly range: string[] } {
  const [ours, others] = [servers.filter(isOurs), servers.filter((server) => !isOurs(server))];
  const pick = (colours: readonly string[]) => (_: string, n: number) => colours[n % colours.length] as string;
  return { domain: [...ours, ...others], range: [...ours.map(pick(OUR_COLOURS)), ...others.map(pick(OTHER_COLOURS))] };
}

/** Returns the specification of the picture of a report for Vega-Lite. */
export function specificationOf(report: Report, plot: Plot): object {
  const bars = barsOf(report, plot);
  const scale = coloured(distinct(bars.map(({ server }) => server)));
  const servers = scale.domain;
  const { cpu = 'unknown processor', cores, node, loadBefore } = report.machine;
  const load = `load average ${loadBefore[0] ?? 0} at the start`;
  const place = `${cpu}, ${cores} cores, Node ${node.replace('v', '')}, ${load}`;
  const subtitle = [
    `${plot.command}${report.model === undefined ? '' : ` with ${report.model}`}, ${report.date.slice(0, 10)}, ` +
      `${report.commit}`,
    place,
  ];
  const x = {
    field: 'scenario',
    type: 'nominal',
    sort: null,
    title: null,
    axis: { labelAngle: 0, labelExpr: "split(datum.label, ', ')", domain: false, ticks: false },
  };
  const groups = distinct(bars.map(({ scenario }) => scenario)).length;
  const offset = { field: 'server', sort: servers };
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 14,
    title: { text: plot.title, subtitle, anchor: 'start', fontSize: 15, subtitleColor: '#6b7280', offset: 12 },
    hconcat: Object.values(plot.figures)
      .filter((figure) => bars.some((bar) => bar.figure === figure))
      .map((figure) => ({
        title: { text: linesOf(figure), fontSize: 11, fontWeight: 'normal', anchor: 'start', offset: 14 },
        width: groups * (servers.length + 1) * BAR_WIDTH,
        height: 190,
        data: {
          values: bars.filter((bar) => bar.figure === figure).map((bar) => ({ ...bar, label: shortText(bar.value) })),
        },
        encoding: {
          x,
          xOffset: offset,
          y: { field: 'value', type: 'quantitative', title: null, axis: { grid: true, tickCount: 4, domain: false } },
        },
        layer: [
          {
            mark: { type: 'bar', cornerRadiusEnd: 2 },
            encoding: {
              color: {
                field: 'server',
                scale,
                legend: { title: null, orient: 'bottom', symbolType: 'square', labelLimit: 300 },
              },
            },
          },
          {
            mark: { type: 'text', dy: -5, fontSize: 8.5, color: '#374151' },
            encoding: { text: { field: 'label' } },
          },
        ],
      })),
    config: {
      font: 'system-ui, sans-serif',
      view: { stroke: null },
      axis: { gridColor: '#e5e7eb', labelColor: '#374151' },
    },
  };
}
