export interface AutoscalerOptions {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Running and waiting calls per replica to aim for. */
  readonly targetOngoing: number;
  readonly upscaleDelayMs: number;
  readonly downscaleDelayMs: number;
}

interface Wish {
  /** Time from which it was wanted. */
  readonly at: number;
  readonly replicas: number;
}

/**
 * Decides the number of replicas. The autoscaler follows sustained load and ignores spikes: it scales up to the least
 * number that was wanted during the upscale delay, and down to the greatest number that was wanted during the downscale
 * delay. From zero it scales up at once. It is a pure controller, which is called periodically.
 */
export class Autoscaler {
  readonly #options: AutoscalerOptions;
  /** Wanted numbers, oldest first. The first one covers the start of the longer delay. */
  readonly #wishes: Wish[] = [];

  constructor(options: AutoscalerOptions) {
    this.#options = options;
  }

  /**
   * Returns the number of replicas to have from `now` on. `load` is the number of running and waiting calls, `current`
   * the number of kept replicas.
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

  /**
   * Returns the least or greatest number that was wanted from `since` on; undefined when the records do not go back
   * that far.
   */
  #extreme(since: number, choose: (...values: number[]) => number): number | undefined {
    const from = this.#wishes.findLastIndex(({ at }) => at <= since);
    return from < 0 ? undefined : choose(...this.#wishes.slice(from).map(({ replicas }) => replicas));
  }
}
