import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { NumberPoint } from './metric-data.ts';
import type { Metrics } from './metrics.ts';

/**
 * Adds metrics of this process, with OpenTelemetry's names for processes and for Node. Those of the event loop describe
 * the time since the last reading. Returns a function that ends the measurement.
 */
export function observeProcess(metrics: Metrics): () => void {
  metrics.observe(
    'counter',
    'process.cpu.time',
    { unit: 's', description: 'CPU time of the host process.', attributes: ['cpu.mode'] },
    () => {
      const { user, system } = process.cpuUsage();
      return [
        { attributes: { 'cpu.mode': 'user' }, value: user / 1e6 },
        { attributes: { 'cpu.mode': 'system' }, value: system / 1e6 },
      ];
    },
  );
  metrics.observe(
    'gauge',
    'process.memory.usage',
    { unit: 'By', description: 'Resident memory of the host process.' },
    () => only(process.memoryUsage.rss()),
  );
  metrics.observe('gauge', 'process.uptime', { unit: 's', description: 'Time since the start of the process.' }, () =>
    only(process.uptime()),
  );
  observeUtilization(metrics);
  return observeDelays(metrics);
}

const only = (value: number): NumberPoint[] => [{ attributes: {}, value }];

function observeUtilization(metrics: Metrics): void {
  let last = performance.eventLoopUtilization();
  metrics.observe(
    'gauge',
    'nodejs.eventloop.utilization',
    { unit: '1', description: 'Part of the time in which the event loop was busy, 0 to 1.' },
    () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return only(utilization);
    },
  );
}

/** Milliseconds between two looks at the event loop, each by a timer of Node's own. */
const RESOLUTION_MS = 20;
const DELAYS = ['p50', 'p90', 'p99', 'max'] as const;

/** The measurement begins with the first reading, because the timer is of use only to those who read. */
function observeDelays(metrics: Metrics): () => void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  let seconds: Readonly<Record<(typeof DELAYS)[number], number>> | undefined;
  const look = (): void => {
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000);
    const { max, count } = histogram;
    const [p50, p90, p99] = [50, 90, 99].map((percent) => late(histogram.percentile(percent)));
    seconds = count === 0 ? undefined : { p50: p50 ?? 0, p90: p90 ?? 0, p99: p99 ?? 0, max: late(max) };
    histogram.enable();
    histogram.reset();
  };
  for (const name of DELAYS) {
    const which = name === 'max' ? 'the most' : `percentile ${name.slice(1)}`;
    const description = `Time by which the event loop was late: ${which}.`;
    metrics.observe('gauge', `nodejs.eventloop.delay.${name}`, { unit: 's', description }, () => {
      if (name === DELAYS[0]) look();
      return seconds === undefined ? [] : only(seconds[name]);
    });
  }
  return () => histogram.disable();
}
