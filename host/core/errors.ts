/**
 * What went wrong, in the terms a caller can act on. Each kind has one HTTP status (`host/http/status.ts`).
 *
 * - `invalid-input`: the request does not match the schema (422)
 * - `bad-request`: well-formed, but cannot be served: an unreachable URL, a file that is not media (400)
 * - `unauthenticated`: no key, or one that is not known or has expired (401)
 * - `denied`: a private address, a path outside the allowed directories (403)
 * - `not-found`: no such thing (404)
 * - `conflict`: it contradicts what is there (409)
 * - `too-large`: over a size limit (413)
 * - `rate-limited`: too many requests in a while (429)
 * - `unavailable`: a replica was lost or a queue is full; trying again may work (503)
 * - `deadline-exceeded`: over a time limit (504)
 * - `cancelled`: the client went away (499)
 * - `plugin-failed`: guest code trapped (502)
 * - `internal`: ours (500)
 */
export type ErrorKind =
  | 'invalid-input'
  | 'bad-request'
  | 'unauthenticated'
  | 'denied'
  | 'not-found'
  | 'conflict'
  | 'too-large'
  | 'rate-limited'
  | 'unavailable'
  | 'deadline-exceeded'
  | 'cancelled'
  | 'plugin-failed'
  | 'internal';

/** An error as it crosses a process, thread or sandbox border. `data` is JSON. */
export interface ErrorRecord {
  readonly name: string;
  readonly kind: ErrorKind;
  readonly message: string;
  readonly data: unknown;
  readonly stack?: string | undefined;
}

export interface AanaErrorOptions extends ErrorOptions {
  /** Facts a client may see, as JSON. Default `{}`. */
  readonly data?: unknown;
  /** Facts for the log of this process alone: they cross no border, and no client sees them. */
  readonly logFields?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Every error this package throws on purpose. `name` is the class name that clients see as `error`; match on it, not on the text:
 * an error that crossed a border comes back as an `AanaError` with the same `name`, `kind`, `message` and `data`.
 */
export class AanaError extends Error {
  override readonly name: string;
  readonly kind: ErrorKind;
  readonly data: unknown;
  readonly logFields: Readonly<Record<string, unknown>> | undefined;

  constructor(name: string, kind: ErrorKind, message: string, options: AanaErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = name;
    this.kind = kind;
    this.data = options.data ?? {};
    this.logFields = options.logFields;
  }
}

/** The abort reason for work whose client went away. */
export function cancelledError(what = 'the request was cancelled'): AanaError {
  return new AanaError('CancelledError', 'cancelled', what);
}

/** Any thrown value as a record. Unknown errors become `internal` and keep their name, or that of their class, and message. */
export function toErrorRecord(thrown: unknown): ErrorRecord {
  if (thrown instanceof AanaError) {
    return { name: thrown.name, kind: thrown.kind, message: thrown.message, data: thrown.data, stack: thrown.stack };
  }
  if (thrown instanceof Error) {
    const aborted = thrown.name === 'AbortError';
    return {
      name: thrown.name === 'Error' ? thrown.constructor.name || 'Error' : thrown.name,
      kind: aborted ? 'cancelled' : thrown.name === 'TimeoutError' ? 'deadline-exceeded' : 'internal',
      message: thrown.message,
      data: {},
      stack: thrown.stack,
    };
  }
  return { name: 'Error', kind: 'internal', message: String(thrown), data: {} };
}

/** What a log says of an error: its name, its message, and what is for the log alone. */
export function errorLogFields(thrown: unknown): Readonly<Record<string, unknown>> {
  const { name, message } = toErrorRecord(thrown);
  return { error: name, reason: message, ...(thrown instanceof AanaError && thrown.logFields) };
}

/** The inverse of {@link toErrorRecord}; keeps the remote stack, when there is one, below the local one. */
export function fromErrorRecord(record: ErrorRecord): AanaError {
  const error = new AanaError(record.name, record.kind, record.message, { data: record.data });
  if (record.stack !== undefined) error.stack = record.stack;
  return error;
}
