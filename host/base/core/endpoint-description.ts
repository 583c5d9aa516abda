/** Which requests of an endpoint become tasks: those whose query asks for it (`optional`), all of them, or none. */
export const DEFER_OPTIONS = ['optional', 'always', 'never'] as const;
export type DeferOption = (typeof DEFER_OPTIONS)[number];

/** The longest time for one attempt at a task, in seconds: a week. */
export const MAX_EXECUTION_TIMEOUT_S = 604_800;

/** A description of an endpoint for its clients. Whoever serves it can replace the optional members. */
export interface EndpointDescription {
  /** Unique, such as `transcribe_video`. */
  readonly name: string;
  /** URL path, such as `/video/transcribe`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** JSON Schema (2020-12) of the input object. */
  readonly inputSchema: object;
  /** JSON Schema of the output, or of one streamed value. */
  readonly outputSchema: object;
  readonly streaming: boolean;
  /** Groups of the endpoint in the documentation. Default: its plugin, or `app`. */
  readonly tags?: readonly string[];
  /** Default: `optional`. */
  readonly deferOption?: DeferOption;
  /** Time for one attempt as a task, in seconds. Default: `task_queue.execution_timeout`. */
  readonly executionTimeoutS?: number;
}
