/** Remembers which deployments the endpoints of a plugin call, so that later runs can reserve places there. */
export class CalledDeployments {
  readonly #byEndpoint = new Map<string, Set<string>>();
  readonly #granted: readonly string[];

  /** @param granted the deployments that the plugin may call. `*` stands for all. */
  constructor(granted: readonly string[]) {
    this.#granted = granted.filter((name) => name !== '*');
  }

  /**
   * Returns the deployments that a run of the endpoint is expected to call. Before the first successful run these are
   * all deployments that are granted by name.
   */
  expectedOf(endpoint: string): Iterable<string> {
    return this.#byEndpoint.get(endpoint) ?? this.#granted;
  }

  /** Records the deployments that a successful run of the endpoint has called. */
  add(endpoint: string, names: Iterable<string>): void {
    const known = this.#byEndpoint.get(endpoint) ?? new Set();
    for (const name of names) known.add(name);
    this.#byEndpoint.set(endpoint, known);
  }
}
