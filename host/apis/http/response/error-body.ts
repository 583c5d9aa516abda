import {
  AanaError,
  type ErrorName,
  type ErrorRecord,
  kindOf,
  publicData,
  publicMessage,
  statusOf,
  toErrorRecord,
} from '../../../base/core/errors.ts';
import type { ErrorBody } from '../../openapi/index.ts';
import type { ForeignApis } from './foreign-api.ts';

export interface HttpErrorOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly detail?: string | undefined;
  readonly data?: unknown;
}

/** An error with headers or a key `detail` for its answer, or with a status that no kind has, such as 405. */
export class HttpError extends AanaError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly detail: string | undefined;

  constructor(name: ErrorName, message: string, { headers = {}, detail, data }: HttpErrorOptions = {}) {
    super(name, kindOf(name), message, { data });
    this.status = statusOf(name);
    this.headers = headers;
    this.detail = detail;
  }
}

/** The statuses of errors: `none` for our own, or those of the original system for clients that were written for it. */
export type CompatStatus = 'none' | 'original';

/** The whole message of the original for these errors. */
const ORIGINAL_DETAIL: Readonly<Record<string, string>> = {
  NotFound: 'Not Found',
  MethodNotAllowed: 'Method Not Allowed',
};

export function errorBody(record: ErrorRecord, includeStacktrace: boolean): ErrorBody {
  if (includeStacktrace)
    return { error: record.name, message: record.message, data: record.data, stacktrace: record.stack ?? null };
  return { error: record.name, message: publicMessage(record), data: publicData(record), stacktrace: null };
}

/** Returns the body as JSON. Data without a JSON form is left out. */
export function errorJson(thrown: unknown, includeStacktrace: boolean, compatStatus: CompatStatus = 'none'): string {
  const detail =
    thrown instanceof HttpError
      ? (thrown.detail ?? (compatStatus === 'original' ? ORIGINAL_DETAIL[thrown.name] : undefined))
      : undefined;
  const body: ErrorBody = {
    ...errorBody(toErrorRecord(thrown), includeStacktrace),
    ...(detail !== undefined && { detail }),
  };
  try {
    return JSON.stringify(body);
  } catch {
    return JSON.stringify({ ...body, data: {} });
  }
}

export function nothingAt(path: string, { apis = [] }: ForeignApis = {}): HttpError {
  const why = apis.map((api) => api.absenceOf?.(path)).find((reason) => reason !== undefined);
  return new HttpError('NotFound', `there is nothing at ${path}${why === undefined ? '' : `: ${why}`}`);
}
