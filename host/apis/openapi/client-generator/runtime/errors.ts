/** One mismatch of an input. */
export interface ValidationEntry {
  readonly type: string;
  /** Path from the root of the input. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
}

/** The four keys of every error. */
export interface ErrorBody {
  readonly error: string;
  readonly message: string;
  readonly data: unknown;
  readonly stacktrace: string | null;
}

/** A failed request, as the server reports it. */
export class ApiError extends Error implements ErrorBody {
  override readonly name = 'ApiError';
  /** HTTP status. It is 200 for a task that failed, and for a stream that failed after its first value. */
  readonly status: number;
  /** Class of the error, for comparisons: `ValidationError`, `DownloadException` … */
  readonly error: string;
  readonly data: unknown;
  readonly stacktrace: string | null;
  /** Id of the request in the log of the server. */
  readonly requestId: string | null;
  /** Seconds after which another attempt may succeed, if the server has sent them. */
  readonly retryAfter: number | null;

  constructor(status: number, body: ErrorBody, headers: Headers = new Headers()) {
    super(body.message);
    this.status = status;
    this.error = body.error;
    this.data = body.data;
    this.stacktrace = body.stacktrace;
    this.requestId = headers.get('x-request-id');
    const seconds = Number(headers.get('retry-after') ?? Number.NaN);
    this.retryAfter = Number.isFinite(seconds) ? seconds : null;
  }

  /** The mismatches of the input, in an answer with status 422; else empty. */
  get validation(): readonly ValidationEntry[] {
    return this.status === 422 && Array.isArray(this.data) ? (this.data as ValidationEntry[]) : [];
  }
}

export function isErrorBody(value: unknown): value is ErrorBody {
  if (typeof value !== 'object' || value === null) return false;
  const { error, message } = value as Partial<ErrorBody>;
  return typeof error === 'string' && typeof message === 'string' && 'data' in value && 'stacktrace' in value;
}

/**
 * Returns the error in an answer. An answer that is not from the server itself, such as the one of a proxy, gets an
 * error with its status.
 */
export function errorOf({ status, statusText }: Response, text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) return body;
  } catch {
    // not JSON
  }
  return {
    error: 'HttpError',
    message: `${status} ${statusText}: ${text.slice(0, 200)}`.trim(),
    data: {},
    stacktrace: null,
  };
}
