import type { Clock } from '../../../base/core/clock.ts';
import { type Deferred, deferred } from '../../../base/core/deferred.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { TriedSuspect } from './trials.ts';

/** Lost replicas after which a call is refused. More than one, because one may have ended for another reason. */
const MAX_LOSSES = 2;
/** Milliseconds for which a call is remembered after a replica was lost with it. */
const REMEMBERED_MS = 600_000;
const MAX_SUSPECTS = 1000;
/** Length of a trial, relative to the time that the call had run when a replica was lost with it. */
const ALONE_SHARE = 2;
/** Bounds of the length of a trial, in milliseconds. */
const MIN_ALONE_MS = 10_000;
const MAX_ALONE_MS = 60_000;

interface Suspect {
  /** Replicas that were lost while they worked on it, with their names. */
  readonly lost: Map<object, string>;
  readonly until: number;
  /** Longest time that it had run when a replica was lost with it, in milliseconds. */
  readonly ranMs: number;
  /** Resolves when the running trial has ended; undefined when there is none. */
  trial: Deferred<void> | undefined;
}

/** The trial of a suspect, which a replica runs without other suspects. */
export interface Trial extends TriedSuspect {
  /** Clears the call, because its replica survived it. */
  acquit(): void;
  /** Ends the trial, so that the next call with the same arguments may be tried. Must always be called. */
  end(): void;
}

/**
 * Calls with which replicas were lost, by fingerprint. After one loss a call is a suspect: it is tried once more, and
 * cleared when its replica survives. Calls with the same fingerprint are tried one at a time. After two losses the call
 * is refused for every caller, so that it ends no further replica.
 */
export class SuspectCalls {
  readonly #deployment: string;
  readonly #clock: Clock;
  readonly #suspects = new Map<string, Suspect>();

  constructor(deployment: string, clock: Clock) {
    this.#deployment = deployment;
    this.#clock = clock;
  }

  /** Whether there is no suspect. Fingerprints cost time, and are needed only while there is one. */
  get isEmpty(): boolean {
    for (const [fingerprint, { until }] of this.#suspects) {
      if (until > this.#clock.now()) return false;
      this.#suspects.delete(fingerprint);
    }
    return true;
  }

  /** Returns whether a replica was lost with a call of this fingerprint. */
  isSuspect(fingerprint: string): boolean {
    return this.#find(fingerprint) !== undefined;
  }

  /**
   * Begins the trial of a suspect. Returns undefined for other calls. Waits with `hold` while another call with the
   * same fingerprint is tried. Throws `PoisonousCallError`, or the error of `hold`.
   */
  async begin(
    fingerprint: string,
    method: string,
    hold: (trial: Promise<void>) => Promise<void>,
  ): Promise<Trial | undefined> {
    for (;;) {
      const suspect = this.#find(fingerprint);
      if (!suspect) return undefined;
      if (suspect.lost.size >= MAX_LOSSES) throw this.#refusal(suspect, method);
      const { trial } = suspect;
      if (!trial) return this.#trial(fingerprint, suspect);
      await hold(trial.promise);
    }
  }

  /**
   * Records that a replica was lost after it had worked on the call for `ranMs` milliseconds. Returns the error with
   * which the call is refused from now on, or undefined if it is not.
   */
  onLoss(
    fingerprint: string,
    method: string,
    replica: { readonly name: string },
    ranMs: number,
  ): AanaError | undefined {
    const before = this.#find(fingerprint);
    const suspect: Suspect = {
      ranMs: Math.max(before?.ranMs ?? 0, ranMs),
      lost: before?.lost ?? new Map(),
      trial: before?.trial,
      until: this.#clock.now() + REMEMBERED_MS,
    };
    suspect.lost.set(replica, replica.name);
    this.#suspects.delete(fingerprint); // keeps the oldest first
    this.#suspects.set(fingerprint, suspect);
    const [oldest] = this.#suspects.keys();
    if (this.#suspects.size > MAX_SUSPECTS && oldest !== undefined) this.#suspects.delete(oldest);
    return suspect.lost.size >= MAX_LOSSES ? this.#refusal(suspect, method) : undefined;
  }

  /** Forgets all suspects, because new replicas may survive calls that the old ones did not survive. */
  clear(): void {
    this.#suspects.clear();
  }

  #find(fingerprint: string): Suspect | undefined {
    const suspect = this.#suspects.get(fingerprint);
    return suspect && suspect.until > this.#clock.now() ? suspect : undefined;
  }

  #trial(fingerprint: string, suspect: Suspect): Trial {
    const running = deferred();
    suspect.trial = running;
    return {
      aloneMs: Math.min(MAX_ALONE_MS, Math.max(MIN_ALONE_MS, ALONE_SHARE * suspect.ranMs)),
      acquit: () => void this.#suspects.delete(fingerprint),
      end: () => {
        const now = this.#suspects.get(fingerprint);
        if (now?.trial === running) now.trial = undefined;
        running.resolve();
      },
    };
  }

  #refusal({ lost, until }: Suspect, method: string): AanaError {
    const replicas = [...lost.values()];
    const waitS = Math.max(1, Math.ceil((until - this.#clock.now()) / 1000));
    return fail(
      'PoisonousCallError',
      `this call of ${this.#deployment}.${method} is suspected of ending replicas and is refused for ${waitS} s: ` +
        `${replicas.join(' and ')} were lost while they worked on it. Change the request; the log of the server ` +
        `says how the replicas ended`,
      { data: { deployment: this.#deployment, method, replicas, refused_for_s: waitS } },
    );
  }
}
