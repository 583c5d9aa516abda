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
  readonly scenarios: readonly {
    readonly scenario: string;
    readonly servers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  }[];
}

/** A picture: one panel for each figure, one group of bars for each scenario, one bar for each server. */
interface Plot {
  readonly title: string;
  readonly command: string;
  /** Names of scenarios in the report, each with its label. */
  readonly scenarios: Readonly<Record<string, string>>;
  /** Names of figures in the report, each with the title of its panel. */
  readonly figures: Readonly<Record<string, string>>;
}

const AT_A_TIME = { '1 at a time': '1', '8 at a time': '8', '32 at a time': '32' };

/** The picture of each benchmark that has one. */
export const PLOTS: Readonly<Record<string, Plot>> = {
  llm: {
    title: 'Language model server, by requests at a time',
    command: 'npm run bench:llm',
    scenarios: AT_A_TIME,
    figures: {
      tokensPerSecond: 'tokens per second (more is better)',
      cpuMsPerToken: 'CPU ms per token (less is better)',
      firstTextMs: 'ms to the first text (less is better)',
    },
  },
  openai: {
    title: 'OpenAI’s API, by streams at a time',
    command: 'npm run bench:openai',
    scenarios: { 'streams-1': '1', 'streams-8': '8', 'streams-32': '32' },
    figures: {
      tokensPerSecond: 'tokens per second (more is better)',
      cpuMsPerToken: 'CPU ms per token (less is better)',
      firstTokenMs: 'ms to the first token (less is better)',
    },
  },
  asr: {
    title: 'Speech to text',
    command: 'npm run bench:asr',
    scenarios: {},
    figures: {
      cpuPerAudioSecond: 'CPU s per s of audio (less is better)',
      firstTextMs: 'ms to the first text (less is better)',
      peakMemoryMb: 'MB of memory at most (less is better)',
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
  const labels = new Map(Object.entries(plot.scenarios));
  return report.scenarios.flatMap(({ scenario, servers }) => {
    const label = labels.size === 0 ? scenario : labels.get(scenario);
    if (label === undefined) return [];
    return Object.entries(servers).flatMap(([server, figures]) =>
      Object.entries(plot.figures).flatMap(([name, figure]) => {
        const value = figures[name];
        return typeof value === 'number' ? [{ scenario: label, server, figure, value }] : [];
      }),
    );
  });
}

/** Returns a number in few characters. */
function shortText(value: number): string {
  if (value >= 10_000) return `${Math.round(value / 1000)}k`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)}k`;
  return String(Number(value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3)));
}

/** Pixels of a bar, so that its label does not cover the one beside it. */
const BAR_WIDTH = 23;

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

/** Our colour first; the others are grey and muted, so that the eye finds ours. */
const COLOURS = ['#2563eb', '#9ca3af', '#d1a054', '#c9b8d8', '#7aa6a1'];

/** Returns the specification of the picture of a report for Vega-Lite. */
export function specificationOf(report: Report, plot: Plot): object {
  const bars = barsOf(report, plot);
  const servers = distinct(bars.map(({ server }) => server));
  const { cpu = 'unknown processor', cores, node, loadBefore } = report.machine;
  const place = `${cpu}, ${cores} cores, Node ${node.replace('v', '')}, load average ${loadBefore[0] ?? 0} at the start`;
  const subtitle = [
    `${plot.command}${report.model === undefined ? '' : ` with ${report.model}`}, ${report.date.slice(0, 10)}, ${report.commit}`,
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
        title: { text: figure, fontSize: 11, fontWeight: 'normal', anchor: 'start', offset: 14 },
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
                scale: { domain: servers, range: COLOURS },
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
