/** Messages from the benchmark to a server's process. */
export type ToServer = 'usage' | 'release' | 'stop';
export type FromServer = { readonly type: 'listening'; readonly port: number } | ({ readonly type: 'usage' } & Usage);

/** What a server has used since its start, and how many calls wait. */
export interface Usage {
  readonly cpuMicroseconds: number;
  /** CPU time of the processes of its plugins, which `cpuMicroseconds` does not have. */
  readonly sandboxCpuMicroseconds: number;
  readonly rssBytes: number;
  readonly waiting: number;
}

/** One measurement, as the process that makes the load receives it. */
export interface LoadJob {
  readonly port: number;
  readonly path: string;
  /** The JSON in the form field `body`, or in the whole request. */
  readonly body: string;
  /** The content type of the request. Default: a form. */
  readonly as?: 'form' | 'json';
  /** Whether the server speaks HTTPS. Its certificate is not checked. */
  readonly encrypted?: boolean;
  readonly connections: number;
  /** Ends after this many milliseconds. */
  readonly ms: number;
  /** Milliseconds between two requests of a connection, unless the answer takes longer. */
  readonly everyMs?: number;
  /** Ends after this many requests of all connections together, if `ms` have not passed before. Default: no limit. */
  readonly requests?: number;
  /** Ends after one answer on each connection. */
  readonly once?: boolean;
}

export interface LoadResult {
  readonly requests: number;
  readonly failed: number;
  /** The first answer with a status other than 200. */
  readonly failure?: string;
  readonly seconds: number;
  /** CPU time for making the load. */
  readonly cpuMs: number;
  /** Latencies in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}
