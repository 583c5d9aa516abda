export interface CallJob {
  readonly work: 'noop' | 'echo' | 'stream' | 'tokens' | 'alone' | 'together';
  /** The connection to the replica: that of the process that started it, a Unix socket, or TLS. */
  readonly over: 'own' | 'unix' | 'tls';
  /** Number of calls at the same time. Each is followed by the next. */
  readonly inFlight: number;
  readonly ms: number;
}

export interface CallResult {
  readonly calls: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly hostCpuMicroseconds: number;
}

export type FromHost = { readonly type: 'ready' } | { readonly type: 'result'; readonly result: CallResult };
