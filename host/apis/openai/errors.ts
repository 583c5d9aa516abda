import { type ErrorKind, publicMessage, toErrorRecord } from '../../base/core/errors.ts';
import { paramOf } from './fields.ts';

/** The body of a failed request, as in OpenAI's API. */
export interface OpenAiErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    /** The parameter that is wrong, such as `messages[0].content`. */
    readonly param: string | null;
    /** The cause, for programs. */
    readonly code: string | null;
  };
}

/** Codes of OpenAI's API for errors of this package; other errors have their own name as the code. */
const CODES: Readonly<Record<string, string>> = {
  UnknownModel: 'model_not_found',
  DeploymentNotFound: 'model_not_found',
  StoredFileNotFound: 'file_not_found',
  UnknownAdapter: 'model_not_found',
  PromptTooLongException: 'context_length_exceeded',
  ApiKeyNotProvided: 'invalid_api_key',
  ApiKeyNotFound: 'invalid_api_key',
  ApiKeyExpired: 'invalid_api_key',
  InsufficientScope: 'insufficient_permissions',
  InactiveSubscription: 'insufficient_quota',
  TooManyRequestsException: 'rate_limit_exceeded',
  UnsupportedParameter: 'unsupported_parameter',
  NotFound: 'unknown_url',
  MethodNotAllowed: 'method_not_allowed',
  RequestTooLarge: 'request_too_large',
  VideoReadingException: 'invalid_value',
  AudioReadingException: 'invalid_value',
};

/** Types of OpenAI's API. */
const TYPES: Readonly<Partial<Record<ErrorKind, string>>> = {
  'rate-limited': 'rate_limit_error',
  unavailable: 'server_error',
  'deadline-exceeded': 'server_error',
  cancelled: 'server_error',
  'plugin-failed': 'server_error',
  internal: 'server_error',
};

/** Errors whose code says nothing more than their type. */
const PLAIN = new Set(['ValidationError', 'InvalidParameter', 'MalformedRequest', 'WrongParts']);

/** Returns the body for anything that was thrown. It has no more details than `publicMessage` allows. */
export function openAiError(thrown: unknown): OpenAiErrorBody {
  const record = toErrorRecord(thrown);
  const { name, kind, data } = record;
  const facts = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>;
  const code =
    typeof facts['code'] === 'string' ? facts['code'] : (CODES[name] ?? (PLAIN.has(name) ? null : snakeCase(name)));
  return {
    error: {
      message: wrongInput(facts) ?? publicMessage(record),
      type: code === 'insufficient_quota' ? code : (TYPES[kind] ?? 'invalid_request_error'),
      param: paramIn(facts),
      code,
    },
  };
}

/** Returns a message that names the parameter which is wrong, for answers that have no other place for it. */
export function located(message: string, param: string | null | undefined): string {
  return !param || message.includes(`'${param}'`) ? message : `'${param}': ${message}`;
}

function paramIn(facts: Readonly<Record<string, unknown>>): string | null {
  if (typeof facts['param'] === 'string') return facts['param'];
  return pathOf(firstEntry(facts));
}

/** The first thing that is wrong with an input, of the list that a `ValidationError` has. */
interface Entry {
  readonly loc?: unknown;
  readonly msg?: unknown;
}

function firstEntry(facts: unknown): Entry | undefined {
  return Array.isArray(facts) ? (facts as readonly Entry[])[0] : undefined;
}

/** Returns where the wrong value is. A parameter of the query has its own name, as in OpenAI's API. */
function pathOf(entry: Entry | undefined): string | null {
  if (!Array.isArray(entry?.loc) || entry.loc.length === 0) return null;
  const loc = entry.loc as (string | number)[];
  return paramOf(loc[0] === 'query' && loc.length === 2 ? loc.slice(1) : loc);
}

/** Returns what is wrong with an input and where, because the message of a `ValidationError` says neither. */
function wrongInput(facts: unknown): string | undefined {
  const entry = firstEntry(facts);
  if (typeof entry?.msg !== 'string') return undefined;
  const path = pathOf(entry);
  return path === null ? entry.msg : `'${path}': ${entry.msg}`;
}

/** Returns `deployment_full` for `DeploymentFull`. */
function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();
}
