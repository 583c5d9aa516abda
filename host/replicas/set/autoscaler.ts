export interface AutoscalerOptions {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Calls running and waiting that each replica should have. */
  readonly targetOngoing: number;
  readonly upscaleDelayMs: number;
  readonly downscaleDelayMs: number;
}

interface Wish {
  /** From when on it was wanted. */
  readonly at: number;
  readonly replicas: number;
}

/**
 * How many replicas there should be. A pure controller: it is asked from time to time and looks at nothing else. It
 * goes up by the least that was wanted during all of the upscale delay, down to the most that was wanted during the
 * downscale delay, so load that swings faster than the delays changes nothing. From zero it goes up at once.
 */
export class Autoscaler {
  readonly #options: AutoscalerOptions;
  /** What was wanted, oldest first; the first holds from the start of the longer delay on. */
  readonly #wishes: Wish[] = [];

  constructor(options: AutoscalerOptions) {
    this.#options = options;
  }

  /**
   * The number of replicas to have from `now` on. `load` is the calls running and waiting, `current` the replicas that
   * are kept running.
   */
  decide(now: number, load: number, current: number): number {
    const { minReplicas, maxReplicas, targetOngoing, upscaleDelayMs, downscaleDelayMs } = this.#options;
    const clamp = (replicas: number): number => Math.min(maxReplicas, Math.max(minReplicas, replicas));
    const wanted = clamp(Math.ceil(load / targetOngoing));
    this.#remember(now, wanted);
    if (current < minReplicas) return minReplicas;
    if (current > maxReplicas) return maxReplicas;
    if (current === 0 && wanted > 0) return wanted;
    const least = this.#extreme(now - upscaleDelayMs, Math.min);
    if (least !== undefined && least > current) return least;
    const most = this.#extreme(now - downscaleDelayMs, Math.max);
    return most !== undefined && most < current ? most : current;
  }

  #remember(now: number, replicas: number): void {
    const oldest = now - Math.max(this.#options.upscaleDelayMs, this.#options.downscaleDelayMs);
    while ((this.#wishes[1]?.at ?? Number.POSITIVE_INFINITY) <= oldest) this.#wishes.shift();
    if (this.#wishes.at(-1)?.replicas !== replicas) this.#wishes.push({ at: now, replicas });
  }

  /** The least or most of what was wanted from `since` on; undefined when it is not known that far back. */
  #extreme(since: number, choose: (...values: number[]) => number): number | undefined {
    const from = this.#wishes.findLastIndex(({ at }) => at <= since);
    return from < 0 ? undefined : choose(...this.#wishes.slice(from).map(({ replicas }) => replicas));
  }
}
