const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Returns a number of bytes for people: `1.2 GB`. */
export function bytes(value: number): string {
  let [rest, unit] = [value, 0];
  while (rest >= 1000 && unit < UNITS.length - 1) [rest, unit] = [rest / 1000, unit + 1];
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : rest.toFixed(1)} ${UNITS[unit]}`;
}

/** Returns a duration in seconds for people: `350 µs`, `12 ms`, `1.5 s`, `3 min`. */
export function seconds(value: number): string {
  if (value === 0) return '0 s';
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value / 60)} min`;
}

/** Returns a number with at most three digits that matter: `1,240`, `12.3`, `0.5`. */
export function number(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 });
}

/** Returns a point in time in the time zone of the browser. Those of today have no date. */
export function time(iso: string | null): string {
  if (iso === null) return '–';
  const at = new Date(iso);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? at.toLocaleTimeString() : at.toLocaleString();
}

/** Returns a number and its noun: `1 replica`, `2 replicas`. */
export function count(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? '' : 's'}`;
}
