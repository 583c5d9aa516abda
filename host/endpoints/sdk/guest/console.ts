import type { Host, LogLevel } from '../host.ts';
import { running } from './running.ts';

type Write = (...values: unknown[]) => void;

/** Defines a `console` whose lines go to the host's log. Plugins should prefer `ctx.log`, which has fields. */
export function installConsole(log: Host['log']): void {
  const at =
    (level: LogLevel): Write =>
    (...values) => {
      if (running.isOn) log.log(level, formatted(values), '');
    };
  const [debug, info, warn, error] = [at('debug'), at('info'), at('warn'), at('error')];
  const counts = new Map<string, number>();
  const starts = new Map<string, number>();
  const elapsed = (label: string): string =>
    `${label}: ${(Date.now() - (starts.get(label) ?? Date.now())).toFixed(0)} ms`;
  const lines: Record<string, Write> = {
    debug,
    trace: debug,
    log: info,
    info,
    dir: info,
    dirxml: info,
    table: info,
    group: info,
    groupCollapsed: info,
    warn,
    error,
    groupEnd: () => {},
    clear: () => {},
    assert: (condition, ...values) => {
      if (!condition) error('assertion failed:', ...values);
    },
    count: (label = 'default') => {
      counts.set(String(label), (counts.get(String(label)) ?? 0) + 1);
      info(`${String(label)}: ${counts.get(String(label))}`);
    },
    countReset: (label = 'default') => void counts.delete(String(label)),
    time: (label = 'default') => void starts.set(String(label), Date.now()),
    timeLog: (label = 'default', ...values) => info(elapsed(String(label)), ...values),
    timeEnd: (label = 'default') => {
      info(elapsed(String(label)));
      starts.delete(String(label));
    },
  };
  Object.defineProperty(globalThis, 'console', { value: lines, writable: true, configurable: true });
}

/** Returns the values as one line. A first string may have the placeholders of `printf`. */
function formatted([first, ...rest]: readonly unknown[]): string {
  if (typeof first !== 'string') return [first, ...rest].map(asText).join(' ');
  const left = [...rest];
  const text = first.replaceAll(/%([sdifjoOc%])/g, (placeholder, kind: string) => {
    if (kind === '%') return '%';
    if (left.length === 0) return placeholder;
    const value = left.shift();
    if (kind === 'c') return '';
    if (kind === 'd' || kind === 'f') return String(Number(value));
    return kind === 'i' ? String(Math.trunc(Number(value))) : asText(value);
  });
  return [text, ...left.map(asText)].join(' ');
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error)
    return value.stack ? `${value.name}: ${value.message}\n${value.stack}` : `${value.name}: ${value.message}`;
  if (value instanceof Map) return `Map ${asText([...value])}`;
  if (value instanceof Set) return `Set ${asText([...value])}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
