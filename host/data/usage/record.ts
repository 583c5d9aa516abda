import type { UsageOutcome } from '../../base/core/usage/usage-meter.ts';

/** Where a request came from. */
export type UsageSource = 'request' | 'socket' | 'task' | 'batch';

/**
 * What a request used of one deployment. A request that used several has a record for each, with one `request_id`. A
 * request that used none has one record with the deployment null.
 */
export interface UsageRecord {
  /** A UUID. A record that is delivered twice has the same one both times. */
  readonly id: string;
  /** The end of the request: ISO 8601, UTC. */
  readonly time: string;
  readonly source: UsageSource;
  readonly request_id: string;
  /** Null where the host requires no keys. */
  readonly user_id: string | null;
  /** The API key of the request. Null for tasks and batches, which outlive keys. */
  readonly key_id: string | null;
  /** The path of an endpoint or the template of a route. */
  readonly route: string | null;
  readonly deployment: string | null;
  /** 1 in the first record of a request, and 0 in the others, so that the sum is the number of requests. */
  readonly requests: 0 | 1;
  /** Number of calls of the deployment. */
  readonly calls: number;
  readonly prompt_tokens: number;
  /** Of these, tokens that were computed for an earlier request. */
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  /** Whether a stream ended early, so that `completion_tokens` has the pieces of text that had arrived. */
  readonly is_partial: boolean;
  readonly audio_seconds: number;
  /** Seconds for which replicas worked on the calls. Calls that a replica works on together each count. */
  readonly compute_seconds: number;
  /** Seconds that the code of plugins computed; 0 in all records of a request but the first one. */
  readonly plugin_cpu_seconds: number;
  /** Seconds of the whole request. */
  readonly duration_seconds: number;
  readonly outcome: UsageOutcome;
  /** The HTTP status; null for what has none. */
  readonly status: number | null;
}
