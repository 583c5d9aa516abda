import { faultOf } from '../../core/errors.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { PluginPorts, ReservationPort } from '../ports.ts';

export interface KeptPlacesOptions {
  readonly deployments: PluginPorts['deployments'];
  /** Names of the deployments that the invocation is expected to call. */
  readonly expected: Iterable<string>;
  readonly context: RequestContext;
}

/**
 * The places that an invocation has at deployments before it calls them. They are kept when it opens its first media: a request that cannot be
 * served in its time is then refused before anything is fetched or decoded, and the same place is not given to somebody else meanwhile.
 */
export class KeptPlaces {
  readonly #options: KeptPlacesOptions;
  readonly #places = new Map<string, ReservationPort>();
  readonly #called = new Set<string>();
  #isKept = false;

  constructor(options: KeptPlacesOptions) {
    this.#options = options;
  }

  /** Deployments that were called. */
  get called(): ReadonlySet<string> {
    return this.#called;
  }

  /** Throws what a deployment without room refuses calls with. */
  keep(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    const { deployments, expected, context } = this.#options;
    for (const name of expected) {
      if (this.#called.has(name)) continue;
      try {
        this.#places.set(name, deployments.reserve(name, context));
      } catch (error) {
        if (faultOf(error) === 'caller') continue; // there is no such deployment: the call says so, if it comes
        this.release();
        throw error;
      }
    }
  }

  /** The place at a deployment that is called now. */
  take(name: string): ReservationPort | undefined {
    this.#called.add(name);
    return this.#places.get(name);
  }

  /** Gives up what was not taken. */
  release(): void {
    for (const place of this.#places.values()) place.release();
  }
}
