/**
 * Returns the milliseconds that a call waits if it arrives now and `capacity` calls can run at the same time. The call
 * begins when the capacity that is free has done `work` milliseconds of work.
 * @param remaining milliseconds that each running call still takes; the rest of the capacity is free
 * @param work milliseconds of work that is done before the call
 */
export function waitingTime(capacity: number, remaining: readonly number[], work: number): number {
  if (capacity <= 0) return Number.POSITIVE_INFINITY;
  const busy = remaining.toSorted((a, b) => a - b);
  const free = Math.max(0, capacity - busy.length);
  if (free > 0 && work <= 0) return 0;
  let filled = 0;
  let used = free;
  let level = 0;
  for (const until of busy) {
    const room = used * (until - level);
    if (used > 0 && filled + room >= work) break;
    filled += room;
    level = until;
    used += 1;
  }
  return level + Math.max(0, work - filled) / used;
}
