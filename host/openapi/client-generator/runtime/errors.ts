/** One thing that is wrong with an input. */
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

/** A request that failed, as the server says it. */
export class ApiError extends Error implements ErrorBody {
  override readonly name = 'ApiError';
  /** HTTP status; 200 when a stream failed after its beginning, or a task. */
  readonly status: number;
  /** Class of the error, to be matched on: `ValidationError`, `DownloadException` … */
  readonly error: string;
  readonly data: unknown;
  readonly stacktrace: string | null;
  /** What the server's log calls the request. */
  readonly requestId: string | null;
  /** Seconds after which another try may work, where the server says it. */
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

  /** What is wrong with the input, in an answer with status 422; else nothing. */
  get validation(): readonly ValidationEntry[] {
    return this.status === 422 && Array.isArray(this.data) ? (this.data as ValidationEntry[]) : [];
  }
}

export function isErrorBody(value: unknown): value is ErrorBody {
  if (typeof value !== 'object' || value === null) return false;
  const { error, message } = value as Partial<ErrorBody>;
  return typeof error === 'string' && typeof message === 'string' && 'data' in value && 'stacktrace' in value;
}

/** The error of an answer; one that did not come from the server itself, such as a proxy's, is told by its status. */
export function errorOf({ status, statusText }: Response, text: string): ErrorBody {
  try {
    const body: unknown = JSON.parse(text);
    if (isErrorBody(body)) return body;
  } catch {
    // no JSON
  }
  return {
    error: 'HttpError',
    message: `${status} ${statusText}: ${text.slice(0, 200)}`.trim(),
    data: {},
    stacktrace: null,
  };
}
