import {
  definitionOf,
  type ErrorData,
  type ErrorKind,
  type ErrorName,
  type Fault,
  KINDS,
  type NameWithData,
} from './error-table.ts';

export type { ErrorKind, ErrorName, Fault } from './error-table.ts';

/** An error as it crosses a process, thread or sandbox border. `data` is JSON. */
export interface ErrorRecord {
  readonly name: string;
  readonly kind: ErrorKind;
  /** Absent when it follows from `kind`. */
  readonly fault?: Fault | undefined;
  readonly message: string;
  readonly data: unknown;
  readonly stack?: string | undefined;
  /**
   * The error was not thrown on purpose, or that is unknown. Its message may contain anything, also content of a
   * request.
   */
  readonly unexpected?: true;
}

export interface AanaErrorOptions extends ErrorOptions {
  /** Facts that clients may see, as JSON. Default: `{}`. */
  readonly data?: unknown;
  /** Default: the fault that follows from the kind. */
  readonly fault?: Fault | undefined;
  /** Facts for the log of this process only. They are not sent to other processes or clients. */
  readonly logFields?: Readonly<Record<string, unknown>> | undefined;
  /** See {@link ErrorRecord.unexpected}. Default: false. */
  readonly unexpected?: boolean | undefined;
}

/**
 * Every error that is thrown on purpose; {@link fail} makes those of this package. Clients see `name` as `error`. Match
 * on the name and not on the text: an error that crossed a border comes back as an `AanaError` with the same `name`,
 * `kind`, `message` and `data`.
 */
export class AanaError extends Error {
  override readonly name: string;
  readonly kind: ErrorKind;
  readonly fault: Fault;
  readonly data: unknown;
  readonly logFields: Readonly<Record<string, unknown>> | undefined;
  readonly unexpected: boolean;

  constructor(name: string, kind: ErrorKind, message: string, options: AanaErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = name;
    this.kind = kind;
    this.fault = options.fault ?? KINDS[kind].fault;
    this.data = options.data ?? {};
    this.logFields = options.logFields;
    this.unexpected = options.unexpected ?? false;
  }
}

type FailOptions<N extends ErrorName> = Omit<AanaErrorOptions, 'data'> &
  (N extends NameWithData ? { readonly data: ErrorData<N> } : { readonly data?: ErrorData<N> });

/** Returns the kind of an error of this package. */
export function kindOf(name: ErrorName): ErrorKind {
  return definitionOf(name).kind;
}

/** Returns the HTTP status of an error of this package. */
export function statusOf(name: ErrorName): number {
  const { kind, status = KINDS[kind].status } = definitionOf(name);
  return status;
}

/** Returns an error of this package, with the kind of its name in the table of errors. */
export function fail<N extends ErrorName>(
  name: N,
  message: string,
  ...[options]: N extends NameWithData ? [options: FailOptions<N>] : [options?: FailOptions<N>]
): AanaError {
  return new AanaError(name, kindOf(name), message, options);
}

/** Returns the abort reason for work whose client went away. */
export function cancelledError(what = 'the request was cancelled'): AanaError {
  return fail('CancelledError', what);
}

/** Codes of the system for a disk, a quota or a file that is full. */
const NO_SPACE: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Returns whether work failed because a disk, a quota or a file is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NO_SPACE.has(error.code);
}

/**
 * Returns a thrown value as a record. A disk without space is `unavailable`, because it may have space later. Unknown
 * errors become `internal` and keep their message and their name, or the name of their class. They are `unexpected`,
 * except for aborts, time-outs and errors that clients may see (`expose`, which `ctx.throw` sets).
 */
export function toErrorRecord(thrown: unknown): ErrorRecord {
  if (thrown instanceof AanaError) {
    const { name, kind, fault, message, data, stack, unexpected } = thrown;
    return {
      name,
      kind,
      ...(fault !== KINDS[kind].fault && { fault }),
      message,
      data,
      stack,
      ...(unexpected && { unexpected: true }),
    };
  }
  if (isDiskFull(thrown)) {
    const message = 'there is no space left on a disk of the server';
    return { name: 'DiskFullException', kind: 'unavailable', message, data: {}, stack: (thrown as Error).stack };
  }
  if (thrown instanceof Error) {
    const kind =
      thrown.name === 'AbortError' ? 'cancelled' : thrown.name === 'TimeoutError' ? 'deadline-exceeded' : 'internal';
    return {
      name: thrown.name === 'Error' ? thrown.constructor.name || 'Error' : thrown.name,
      kind,
      message: thrown.message,
      data: {},
      stack: thrown.stack,
      ...(kind === 'internal' && !('expose' in thrown && thrown.expose === true) && { unexpected: true }),
    };
  }
  return { name: 'Error', kind: 'internal', message: String(thrown), data: {}, unexpected: true };
}

/** Returns the error of a record, with the stack of the record if it has one. The inverse of {@link toErrorRecord}. */
export function fromErrorRecord(record: ErrorRecord): AanaError {
  const error = new AanaError(record.name, record.kind, record.message, {
    data: record.data,
    fault: record.fault,
    unexpected: record.unexpected,
  });
  if (record.stack !== undefined) error.stack = record.stack;
  return error;
}

/** Returns whose fault a thrown value is; an unknown one is the fault of the code that worked on the call. */
export function faultOf(thrown: unknown): Fault {
  return thrown instanceof AanaError ? thrown.fault : KINDS[toErrorRecord(thrown).kind].fault;
}

/** Errors whose messages name files of the host for the operator. */
const ABOUT_FILES: ReadonlySet<string> = new Set<ErrorName>([
  'FailedDeployment',
  'DeploymentUnavailable',
  'ModelFormatError',
  'ModelDamaged',
  'InsufficientResources',
  'HelperError',
  'DatabaseException',
  'DatabaseFault',
]);
/** The folders of an absolute path. */
const FOLDERS = /(?<![\w.:/\\-])(?:[A-Za-z]:)?[\\/](?:[^\s\\/:'"]+[\\/])+/g;

/** Returns the message of an error for clients, to whom the folders of the host are not told. */
export function publicMessage({ name, message, unexpected }: ErrorRecord): string {
  if (unexpected) return 'an unexpected error; the log of the server has it under the id of the request';
  return ABOUT_FILES.has(name) ? withoutFolders(message) : message;
}

/** Returns the data of an error for clients: without folders of the host, and without what its processes wrote. */
export function publicData({ name, data }: Pick<ErrorRecord, 'name' | 'data'>): unknown {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
  const entries = Object.entries(data).filter(([key]) => key !== 'last_lines');
  if (!ABOUT_FILES.has(name)) return Object.fromEntries(entries);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'string' ? withoutFolders(value) : value]),
  );
}

const withoutFolders = (text: string): string => text.replaceAll(FOLDERS, '');

/**
 * Returns the fields of a log line about an error. The message of an unexpected error is the field `content`, which is
 * written only if the operator enables it.
 */
export function errorLogFields(thrown: unknown): Readonly<Record<string, unknown>> {
  const { name, message, unexpected } = toErrorRecord(thrown);
  const { code, path } = (thrown ?? {}) as { code?: unknown; path?: unknown };
  const said = unexpected ? { ...(typeof code === 'string' && { code }), content: message } : { reason: message };
  const where = isDiskFull(thrown) && typeof path === 'string' && { path };
  return { error: name, ...said, ...where, ...(thrown instanceof AanaError && thrown.logFields) };
}

/**
 * Returns the stack for a log line. An unexpected error loses the beginning of its stack, because that is its message.
 */
export function loggedStack(thrown: unknown): string | undefined {
  const { stack, unexpected } = toErrorRecord(thrown);
  if (!unexpected) return stack;
  return stack
    ?.split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}
