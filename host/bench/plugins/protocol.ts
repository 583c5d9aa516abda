/** What the benchmark asks of a server's process, and what that tells. */
export type ToServer = 'usage' | 'release' | 'stop';
export type FromServer =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'usage'; readonly cpuMicroseconds: number; readonly rssBytes: number; readonly waiting: number };

/** One measurement, as the process that makes the load is told it. */
export interface LoadJob {
  readonly port: number;
  readonly path: string;
  /** JSON of the form's field `body`, or of the whole request. */
  readonly body: string;
  /** How it is sent. Default: as a form. */
  readonly as?: 'form' | 'json';
  /** Whether the server speaks HTTPS; its certificate is not looked at. */
  readonly encrypted?: boolean;
  readonly connections: number;
  /** Ends after this many milliseconds… */
  readonly ms: number;
  /** Milliseconds from one request of a connection to its next, where the answer does not take longer. */
  readonly everyMs?: number;
  /** …or after one answer on each connection. */
  readonly once?: boolean;
}

export interface LoadResult {
  readonly requests: number;
  readonly failed: number;
  /** The first answer that was not 200. */
  readonly failure?: string;
  readonly seconds: number;
  /** CPU time that making the load took. */
  readonly cpuMs: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}
