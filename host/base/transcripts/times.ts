/** Returns seconds as whole milliseconds. A time that is negative or not a number counts as 0. */
export function milliseconds(seconds: number): number {
  return Number.isFinite(seconds) ? Math.max(0, Math.round(seconds * 1000)) : 0;
}

/** Returns a time such as `01:02:03.456`, with `mark` before the milliseconds. Hours have two digits or more. */
export function clockTime(ms: number, mark: '.' | ','): string {
  const digits = (value: number, count: number): string => String(value).padStart(count, '0');
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1000) % 60,
  ];
  return `${digits(hours, 2)}:${digits(minutes, 2)}:${digits(seconds, 2)}${mark}${digits(ms % 1000, 3)}`;
}
