import { raceAbort } from '../core/abort.ts';
import type { Clock } from '../core/clock.ts';
import { type Deferred, deferred } from '../core/deferred.ts';
import { AanaError } from '../core/errors.ts';

/** Replicas that may be lost with the same call: one may have ended by itself. */
const MAX_LOSSES = 2;
/** How long a call is remembered after a replica was lost with it. */
const REMEMBERED_MS = 600_000;
const MAX_SUSPECTS = 1000;
/** How much longer than at its loss a call is tried alone, and how long at least and at most, in milliseconds. */
const ALONE_SHARE = 2;
const MIN_ALONE_MS = 10_000;
const MAX_ALONE_MS = 60_000;

interface Suspect {
  /** The replicas that were lost while they worked on it, with their names. */
  readonly lost: Map<object, string>;
  readonly until: number;
  /** Milliseconds that it had run at most when a replica was lost with it. */
  readonly ranMs: number;
  /** It is being tried now. */
  trial: Deferred<void> | undefined;
}

/** A suspect that is tried once more, alone. */
export interface Trial {
  /** Milliseconds for which its replica tries no other suspect. After that it has outlived what ended the replica before; a long call would hold up all others. */
  readonly aloneMs: number;
  /** Its replica survived it. */
  acquit(): void;
  /** The next one of the same kind may be tried. To be called in any case. */
  end(): void;
}

/**
 * Calls that replicas were lost with, by their fingerprints. After one loss a call is a suspect: it is tried once more, one of the same at a
 * time, and is cleared when its replica survives it. After two losses it is refused, so that no further replica dies of it, whoever asks.
 */
export class SuspectCalls {
  readonly #deployment: string;
  readonly #clock: Clock;
  readonly #suspects = new Map<string, Suspect>();

  constructor(deployment: string, clock: Clock) {
    this.#deployment = deployment;
    this.#clock = clock;
  }

  /** Whether there is any: without one nobody needs fingerprints. */
  get isEmpty(): boolean {
    for (const [fingerprint, { until }] of this.#suspects) {
      if (until > this.#clock.now()) return false;
      this.#suspects.delete(fingerprint);
    }
    return true;
  }

  /** Waits until a suspect may be tried; undefined for a call that is none. Throws `PoisonousCallError`, or the signal's reason. */
  async begin(fingerprint: string, method: string, signal: AbortSignal | undefined): Promise<Trial | undefined> {
    for (;;) {
      const suspect = this.#find(fingerprint);
      if (!suspect) return undefined;
      if (suspect.lost.size >= MAX_LOSSES) throw this.#refusal(suspect, method);
      const { trial } = suspect;
      if (!trial) return this.#trial(fingerprint, suspect);
      await raceAbort(trial.promise, signal);
    }
  }

  /** A replica was lost when it had worked on the call for `ranMs` milliseconds. Gives the error when that was one too many. */
  onLoss(fingerprint: string, method: string, replica: { readonly name: string }, ranMs: number): AanaError | undefined {
    const before = this.#find(fingerprint);
    const suspect: Suspect = { ranMs: Math.max(before?.ranMs ?? 0, ranMs), lost: before?.lost ?? new Map(), trial: before?.trial, until: this.#clock.now() + REMEMBERED_MS };
    suspect.lost.set(replica, replica.name);
    this.#suspects.delete(fingerprint); // the oldest come first
    this.#suspects.set(fingerprint, suspect);
    const [oldest] = this.#suspects.keys();
    if (this.#suspects.size > MAX_SUSPECTS && oldest !== undefined) this.#suspects.delete(oldest);
    return suspect.lost.size >= MAX_LOSSES ? this.#refusal(suspect, method) : undefined;
  }

  /** The replicas are others now, which may survive what those did not. */
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
    return new AanaError(
      'PoisonousCallError',
      'bad-request',
      `this call of ${this.#deployment}.${method} is suspected of ending replicas and is refused for ${waitS} s: ${replicas.join(' and ')} were lost while they worked on it. Change what it asks for; the log of the server says how they ended`,
      { data: { deployment: this.#deployment, method, replicas, refused_for_s: waitS } },
    );
  }
}
