/** Settings of `/mcp`. */
export interface McpOptions {
  /** Whether the route is served. Otherwise it says that it is off. */
  readonly enabled: boolean;
  /** Names of the endpoints that are tools; `*` is all. */
  readonly endpoints: readonly string[];
  /** Largest result of a tool, in bytes. */
  readonly max_result_bytes: number;
}
