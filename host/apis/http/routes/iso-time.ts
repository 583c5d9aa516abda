/** Returns a time in ISO 8601. `ms` counts from 1970. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns a time in ISO 8601, or null where nothing has happened yet. */
export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
