/** Which deployments runs of a plugin's endpoints have called, so that later runs can keep places there. */
export class CalledDeployments {
  readonly #byEndpoint = new Map<string, Set<string>>();
  readonly #granted: readonly string[];

  /** @param granted the deployments that the plugin may call; `*` stands for any. */
  constructor(granted: readonly string[]) {
    this.#granted = granted.filter((name) => name !== '*');
  }

  /** Those that a run of the endpoint is expected to call: until one was there, all that are granted by name. */
  expectedOf(endpoint: string): Iterable<string> {
    return this.#byEndpoint.get(endpoint) ?? this.#granted;
  }

  /** A run of the endpoint has called these and succeeded. */
  add(endpoint: string, names: Iterable<string>): void {
    const known = this.#byEndpoint.get(endpoint) ?? new Set();
    for (const name of names) known.add(name);
    this.#byEndpoint.set(endpoint, known);
  }
}
