/**
 * The kind of an error, by which a caller decides what to do.
 *
 * - `invalid-input`: the request does not match the schema
 * - `bad-request`: well-formed, but cannot be served: an unreachable URL, a file that is not media
 * - `unauthenticated`: the request has no key, or its key is unknown or has expired
 * - `denied`: a private address, a path outside the allowed directories
 * - `not-found`: the named thing does not exist
 * - `conflict`: the request contradicts the present state
 * - `too-large`: over a size limit
 * - `rate-limited`: too many requests in a period of time
 * - `unavailable`: a replica was lost or a queue is full; trying again may work
 * - `deadline-exceeded`: over a time limit
 * - `cancelled`: the client went away
 * - `plugin-failed`: guest code trapped
 * - `internal`: a fault of the host
 */
export type ErrorKind = keyof typeof KINDS;

/**
 * Whose fault an error is. Health checks, retries and updates depend on it.
 *
 * - `caller`: the call itself is wrong; the same call fails everywhere and says nothing about the replica
 * - `deployment`: the code or the model that worked on the call failed
 * - `replica-lost`: the process that worked on the call ended; the call may have had no part in that
 * - `dependency`: another deployment, which the deployment of the call had called, failed or was lost
 * - `overload`: nothing worked on the call, because there was no room for it
 * - `cancelled`: the caller left, or its time was up
 */
export type Fault = 'caller' | 'deployment' | 'replica-lost' | 'dependency' | 'overload' | 'cancelled';

interface KindDefinition {
  /** The HTTP status. */
  readonly status: number;
  readonly fault: Fault;
}

/** The status and the fault of each kind of error. */
export const KINDS = {
  'invalid-input': { status: 422, fault: 'caller' },
  'bad-request': { status: 400, fault: 'caller' },
  unauthenticated: { status: 401, fault: 'caller' },
  denied: { status: 403, fault: 'caller' },
  'not-found': { status: 404, fault: 'caller' },
  conflict: { status: 409, fault: 'caller' },
  'too-large': { status: 413, fault: 'caller' },
  'rate-limited': { status: 429, fault: 'caller' },
  unavailable: { status: 503, fault: 'overload' },
  'deadline-exceeded': { status: 504, fault: 'cancelled' },
  cancelled: { status: 499, fault: 'cancelled' },
  'plugin-failed': { status: 502, fault: 'deployment' },
  internal: { status: 500, fault: 'deployment' },
} as const satisfies Readonly<Record<string, KindDefinition>>;

export interface ErrorDefinition {
  readonly kind: ErrorKind;
  /** Its HTTP status. Default: that of its kind. */
  readonly status?: number;
  /** A sentence for the documentation. */
  readonly when: string;
  /**
   * Keys of `data`; one that not each of these errors has ends with `?`. A text describes data that are no object with
   * these keys. Default: no data.
   */
  readonly data?: readonly string[] | string;
  /** Given if a task has another attempt after it. After an error of kind `unavailable` it always has one. */
  readonly retry?: true;
  /** Its status with `compat_status: original`. Default: 400. */
  readonly original?: number;
}

/** A group of errors, by name. */
export type Definitions = Readonly<Record<string, ErrorDefinition>>;

/** The data of an error about values that do not match their schema. */
export const ISSUES = 'list of type, loc, msg, input';
