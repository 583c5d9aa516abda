/** What `/mcp` is served with. */
export interface McpOptions {
  /** Whether the route is served. Otherwise it says that it is off. */
  readonly enabled: boolean;
  /** Names of the endpoints that are tools; `*` is all. */
  readonly endpoints: readonly string[];
  /** Largest result of a tool, in bytes. */
  readonly max_result_bytes: number;
  /** The deployments of the application. `onNames` calls its listener when one is added or removed. */
  readonly deployments: { has(name: string): boolean; onNames(listener: () => void): void };
}
