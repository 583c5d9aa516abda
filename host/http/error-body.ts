import { AanaError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';

/** What every failed request is answered with: always these four keys. */
export interface ErrorBody {
  readonly error: string;
  readonly message: string;
  readonly data: unknown;
  readonly stacktrace: string | null;
}

/** An error that is HTTP's own and has no kind: 405, 415. */
export class HttpError extends AanaError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(name: string, status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(name, 'bad-request', message);
    this.status = status;
    this.headers = headers;
  }
}

export function errorBody(record: ErrorRecord, includeStacktrace: boolean): ErrorBody {
  return { error: record.name, message: record.message, data: record.data, stacktrace: includeStacktrace ? (record.stack ?? null) : null };
}

/** The body as JSON; data that has no JSON form is left out rather than failing the answer. */
export function errorJson(thrown: unknown, includeStacktrace: boolean): string {
  const body = errorBody(toErrorRecord(thrown), includeStacktrace);
  try {
    return JSON.stringify(body);
  } catch {
    return JSON.stringify({ ...body, data: {} });
  }
}
