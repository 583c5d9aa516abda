import type { Host, LogLevel } from './host.ts';

/** Gives libraries in the sandbox a `console` whose lines go to the host's log; plugins use `ctx.log`. */
export function installConsole(host: Host, isRunning: () => boolean): void {
  const at =
    (level: LogLevel) =>
    (...values: unknown[]): void => {
      if (isRunning()) host.log(level, values.map(asText).join(' '), '');
    };
  const lines = { debug: at('debug'), trace: at('debug'), log: at('info'), info: at('info'), warn: at('warn'), error: at('error') };
  Object.defineProperty(globalThis, 'console', { value: lines, writable: true, configurable: true });
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return value.stack ? `${value.name}: ${value.message}\n${value.stack}` : `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
