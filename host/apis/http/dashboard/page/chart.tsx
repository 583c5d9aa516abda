import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { LoadSample } from './api.ts';

const HEIGHT = 140;

export interface Series {
  readonly label: string;
  /** One of the colours of the page, `--chart-1` to `--chart-3`. */
  readonly color: 1 | 2 | 3;
  readonly value: (sample: LoadSample) => number | null;
}

export interface ChartProps {
  readonly title: string;
  readonly samples: readonly LoadSample[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Upper end of the scale at least. */
  readonly max?: number;
}

/** A chart of the last minutes. Its title has the latest values, so that it says the same without colours. */
export function Chart({ title, samples, series, format, max = 0 }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = samples.at(-1);

  useEffect(() => {
    const parent = box.current!;
    const make = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(options(parent, series, format, max), [[]], parent);
    };
    make();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: parent.clientWidth, height: HEIGHT }));
    resize.observe(parent);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      resize.disconnect();
      scheme.removeEventListener('change', make);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => {
    const times = samples.map(({ time }) => Date.parse(time) / 1000);
    plot.current?.setData([times, ...series.map(({ value }) => samples.map(value))] as uPlot.AlignedData);
  }, [samples]);

  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{title}</span>
        {series.map(({ label, color, value }) => {
          const now = latest ? value(latest) : null;
          return (
            <span key={label} class={`legend color-${color}`}>
              {label} <b>{now === null ? '–' : format(now)}</b>
            </span>
          );
        })}
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}

function options(
  parent: HTMLElement,
  series: readonly Series[],
  format: (value: number) => string,
  max: number,
): uPlot.Options {
  const style = getComputedStyle(parent);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--chart-text'),
    grid: { stroke: colour('--chart-grid'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 20, 0, 0],
    scales: { y: { range: (_, __, high) => [0, Math.max(high * 1.1, max, 1e-9)] } },
    axes: [
      { ...axis, space: 80, size: 26, values: (_, ticks) => ticks.map(clockTime) },
      { ...axis, size: 64, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...series.map(({ label, color }) => ({
        label,
        stroke: colour(`--chart-${color}`),
        width: 1.5,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}

function clockTime(secondsSince1970: number): string {
  return new Date(secondsSince1970 * 1000).toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
}
