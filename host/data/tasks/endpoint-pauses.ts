/** So many attempts in a row that nothing could work on pause an endpoint. */
const FAILURES_BEFORE_PAUSE = 3;
const FIRST_PAUSE_MS = 1000;
const MOST_PAUSE_MS = 60_000;

interface Pause {
  /** Attempts in a row that nothing could work on. */
  failures: number;
  /** The time until which no task is claimed. */
  until: number;
  /** Whether a task was claimed to see whether the pause can end. */
  isProbed: boolean;
}

/** The endpoints whose tasks may be claimed. */
export interface ClaimableEndpoints {
  readonly open: readonly string[];
  /** Endpoints of which one task may be claimed, to see whether their pause can end. */
  readonly probes: readonly string[];
}

/**
 * Endpoints that this host cannot serve now, for example because a deployment is away. Their tasks are left to other
 * hosts for a time that grows with each failed probe. A probe that has not failed after that time makes the next pause
 * shorter, because tasks may run for hours.
 */
export class EndpointPauses {
  readonly #now: () => number;
  readonly #pauses = new Map<string, Pause>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  claimable(paths: readonly string[]): ClaimableEndpoints {
    const open: string[] = [];
    const probes: string[] = [];
    for (const path of paths) {
      const pause = this.#pauses.get(path);
      if (!isPaused(pause)) open.push(path);
      else if (this.#now() >= pause.until) probes.push(path);
    }
    return { open, probes };
  }

  /** Called when a task was claimed as a probe. */
  probed(path: string): void {
    const pause = this.#pauses.get(path);
    if (!pause) return;
    if (pause.isProbed) pause.failures -= 1;
    pause.isProbed = true;
    pause.until = this.#now() + pauseMs(pause.failures);
  }

  /** Called when nothing could work on an attempt. Returns whether this has paused the endpoint. */
  unserved(path: string): boolean {
    const pause = this.#pauses.get(path) ?? { failures: 0, until: 0, isProbed: false };
    this.#pauses.set(path, pause);
    const wasPaused = isPaused(pause);
    if (wasPaused && !pause.isProbed) return false; // this attempt began before the pause
    pause.failures += 1;
    pause.isProbed = false;
    pause.until = this.#now() + pauseMs(pause.failures);
    return !wasPaused && isPaused(pause);
  }

  /** Called when something worked on an attempt. Returns whether this has ended a pause. */
  served(path: string): boolean {
    const pause = this.#pauses.get(path);
    this.#pauses.delete(path);
    return isPaused(pause);
  }
}

function isPaused(pause: Pause | undefined): pause is Pause {
  return pause !== undefined && pause.failures >= FAILURES_BEFORE_PAUSE;
}

function pauseMs(failures: number): number {
  return Math.min(MOST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - FAILURES_BEFORE_PAUSE));
}
