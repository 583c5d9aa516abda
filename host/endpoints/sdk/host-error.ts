/** The class of an error. Each one has one HTTP status (docs/plugins.md lists them). */
export type ErrorKind =
  | 'invalid-input'
  | 'bad-request'
  | 'denied'
  | 'not-found'
  | 'conflict'
  | 'too-large'
  | 'unavailable'
  | 'deadline-exceeded'
  | 'cancelled'
  | 'internal';

/** An error as it crosses the border of the sandbox. `data` is JSON. */
export interface ErrorRecord {
  kind: ErrorKind;
  name: string;
  message: string;
  data: string;
}

/**
 * An error of the host, such as a video that could not be fetched. When it is not caught, it becomes the answer of the
 * request. Throw your own to answer with a status other than 500.
 */
export class HostError extends Error {
  /** The class name that clients see as `error`. Match errors by it, because messages may change. */
  override readonly name: string;
  readonly kind: ErrorKind;
  /** Facts for programs. */
  readonly data: unknown;

  constructor(name: string, kind: ErrorKind, message: string, options: { readonly data?: unknown } = {}) {
    super(message);
    this.name = name;
    this.kind = kind;
    this.data = options.data ?? {};
  }
}

/** Runs a host call. Errors of the host become a {@link HostError}. */
export function hostCall<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw fromHost(thrown);
  }
}

/** Returns the record that `run` throws for any thrown value. */
export function toErrorRecord(thrown: unknown): ErrorRecord {
  // The web has a `TypeError` for a request that fails, with the reason as its cause.
  const error = thrown instanceof TypeError && thrown.cause instanceof HostError ? thrown.cause : thrown;
  if (error instanceof HostError) {
    return {
      kind: error.kind,
      name: error.name,
      message: error.message,
      data: JSON.stringify(error.data ?? {}) ?? '{}',
    };
  }
  const record = errorRecordIn(thrown);
  if (record) return { kind: record.kind, name: record.name, message: record.message, data: record.data };
  if (thrown instanceof Error) {
    const { name, message } = thrown;
    // As `AbortSignal.timeout` throws it.
    return { kind: name === 'TimeoutError' ? 'deadline-exceeded' : 'internal', name, message, data: '{}' };
  }
  return { kind: 'internal', name: 'Error', message: String(thrown), data: '{}' };
}

/** Returns the error for what a host call has thrown. */
export function fromHost(thrown: unknown): unknown {
  const record = errorRecordIn(thrown);
  return record ? new HostError(record.name, record.kind, record.message, { data: parseData(record.data) }) : thrown;
}

/**
 * Returns the error record in a thrown value. Bindings throw the record itself, or an error with the record as
 * `payload`.
 */
export function errorRecordIn(thrown: unknown): ErrorRecord | undefined {
  if (isErrorRecord(thrown)) return thrown;
  if (typeof thrown === 'object' && thrown !== null && 'payload' in thrown && isErrorRecord(thrown.payload))
    return thrown.payload;
  return undefined;
}

function isErrorRecord(value: unknown): value is ErrorRecord {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['kind', 'name', 'message', 'data'].every(
      (key) => key in value && typeof (value as Record<string, unknown>)[key] === 'string',
    )
  );
}

function parseData(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
