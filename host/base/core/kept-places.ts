import { faultOf } from './errors.ts';
import type { RequestContext } from './request-context.ts';

/** A place at a deployment for a later call. */
export interface KeptPlace {
  /** Gives the place up. May be called twice. */
  release(): void;
}

export interface KeptPlacesOptions {
  /**
   * Keeps a place at the deployment of this name. Throws the error with which the deployment would refuse a call now.
   */
  readonly reserve: (deployment: string, context: RequestContext) => KeptPlace;
  /** Names of the deployments that the run is expected to call. */
  readonly expected: Iterable<string>;
  readonly context: RequestContext;
}

/**
 * The places that a run of an endpoint keeps at deployments before it calls them. They are kept before the run fetches
 * anything. A request that cannot be served in time is then refused before its media are fetched or decoded, and no
 * other request gets its place meanwhile.
 */
export class KeptPlaces implements Disposable {
  readonly #options: KeptPlacesOptions;
  readonly #places = new Map<string, KeptPlace>();
  readonly #called = new Set<string>();
  #isKept = false;

  constructor(options: KeptPlacesOptions) {
    this.#options = options;
  }

  /** Names of the deployments that were called. */
  get called(): ReadonlySet<string> {
    return this.#called;
  }

  /**
   * Keeps a place at each expected deployment that was not called yet. Further calls do nothing. Throws the error with
   * which a deployment without room refuses calls.
   */
  keep(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    const { reserve, expected, context } = this.#options;
    for (const name of expected) {
      if (this.#called.has(name)) continue;
      try {
        this.#places.set(name, reserve(name, context));
      } catch (error) {
        if (faultOf(error) === 'caller') continue; // the deployment does not exist; a call of it fails with this error
        this[Symbol.dispose]();
        throw error;
      }
    }
  }

  /** Returns the place at a deployment that is called now; undefined if none was kept. */
  take(name: string): KeptPlace | undefined {
    this.#called.add(name);
    return this.#places.get(name);
  }

  /** Gives up all places. */
  [Symbol.dispose](): void {
    for (const place of this.#places.values()) place.release();
  }
}
