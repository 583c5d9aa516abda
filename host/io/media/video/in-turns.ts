import type { Place } from '../../../base/core/async/limiter.ts';

/** A process that can stop for a while. */
export interface Pausable {
  /** Returns false where that is not possible now. */
  pause(): boolean;
  continue(): void;
}

/** Milliseconds of a turn. Stopping a process and continuing it takes much less. */
const TURN_MS = 200;

/**
 * Waits for work of `decoder`, which has a place among others. When it takes long and others wait, the decoder stops
 * until it has a place again.
 */
export async function inTurns<T>(work: Promise<T>, place: Place, decoder: Pausable): Promise<T> {
  const ended = work.then(
    () => true,
    () => true,
  );
  let timer: NodeJS.Timeout | undefined;
  const turn = (): Promise<boolean> => new Promise((resolve) => (timer = setTimeout(resolve, TURN_MS, false)));
  try {
    while (!(await Promise.race([ended, turn()]))) {
      if (!place.isWanted || !decoder.pause()) continue;
      try {
        await place.pass();
      } finally {
        decoder.continue();
      }
    }
  } finally {
    clearTimeout(timer);
  }
  return work;
}
