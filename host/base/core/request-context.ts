import type { UsageMeter } from './usage/usage-meter.ts';

/**
 * Facts about a request that travel with every piece of work done for it: through endpoints, plugins, handles, frames
 * and replicas into the engine. Options of calls extend this interface; {@link requestContextOf} takes the facts out of
 * them, so that a new fact is added only here and in {@link toWireContext}.
 */
export interface RequestContext {
  /** The id of the request, for log lines. */
  readonly requestId?: string | undefined;
  /**
   * The user whose API key the request has; null where the host requires no keys. Queues and engines are fair between
   * users.
   */
  readonly userId?: string | null | undefined;
  /** The network that the request came from, as `networkOf` names it. */
  readonly client?: string | undefined;
  /**
   * A whole number from -1000 to 1000. Work with a higher number goes first among the work of the same user. Default 0.
   */
  readonly priority?: number | undefined;
  /**
   * The user's part of a deployment beside the weights of other users, 0.001 to 1000. The host sets it from its
   * configuration with each call of a deployment. Default 1.
   */
  readonly weight?: number | undefined;
  /** Most tokens of each text that a model generates for the request. The host sets it. Default: no limit. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * The time after which the answer has no use: milliseconds by `performance.now()` of this thread, because the wall
   * clock may jump. Default: never.
   */
  readonly deadlineAt?: number | undefined;
  /** The place in a distributed trace, as the `traceparent` header of the W3C's Trace Context. */
  readonly traceparent?: string | undefined;
  /**
   * In a replica, the number of the call that it works on. Calls of other deployments name it, so that the host
   * measures them for the same request.
   */
  readonly call?: number | undefined;
  /** Adds up what the request uses; it stays in this process. Absent where usage is not recorded. */
  readonly meter?: UsageMeter | undefined;
}

/** For whom a store or a queue works. */
export interface Caller extends Pick<RequestContext, 'traceparent'> {
  /** Null for all callers where the host requires no keys, and for all users where the work is the operator's. */
  readonly userId: string | null;
}

/** A store or a queue, of which callers see and change only what is theirs. */
export interface ForCallers<T> {
  /** Returns what is the caller's. Work with it has its place in the caller's trace. */
  as(caller: Caller): T;
}

/**
 * The facts in the form in which a process sends them to another one. The deadline is the time that is left, because
 * clocks of machines differ.
 */
export interface WireContext extends Omit<RequestContext, 'userId' | 'deadlineAt' | 'meter' | 'call'> {
  readonly userId?: string;
  /** Milliseconds; 0 when the deadline has passed. */
  readonly remainingMs?: number;
}

/**
 * Version, trace id, parent id and flags. Ids of zeros are invalid, and so is version ff. Source: W3C Trace Context,
 * section 3.2.2.
 */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const ODD_DIGITS = '13579bdf';

/**
 * Returns only the facts about the request from `options`, in a new object that the caller may add members to with
 * `Object.assign`.
 */
export function requestContextOf({
  requestId,
  userId,
  client,
  priority,
  weight,
  maxOutputTokens,
  deadlineAt,
  traceparent,
  call,
  meter,
}: RequestContext): RequestContext {
  const facts: { -readonly [Fact in keyof RequestContext]: RequestContext[Fact] } = {
    requestId,
    userId,
    client,
    priority,
    deadlineAt,
    traceparent,
  };
  // Most requests lack these. Spreading objects here costs a hundredth of a small request.
  if (weight !== undefined) facts.weight = weight;
  if (maxOutputTokens !== undefined) facts.maxOutputTokens = maxOutputTokens;
  if (call !== undefined) facts.call = call;
  if (meter) facts.meter = meter;
  return facts;
}

/** Returns `value` when it is a valid `traceparent`, else undefined. */
export function validTraceparent(value: string | undefined): string | undefined {
  return value !== undefined && TRACEPARENT.test(value) ? value : undefined;
}

/**
 * Returns whose work this is, for queues and caches that keep callers apart: a user, or where the host requires no keys
 * an address. Empty for work of the host itself.
 */
export function tenantOf({ userId, client }: RequestContext): string {
  if (typeof userId === 'string') return `user ${userId}`;
  return client === undefined ? '' : `address ${client}`;
}

/**
 * Returns the ids in a valid `traceparent` as fields of a log line. A trace that is not sampled has no `spanId`,
 * because nobody gets its spans.
 */
export function traceFields(traceparent: string | undefined): { readonly traceId?: string; readonly spanId?: string } {
  if (traceparent === undefined) return {};
  const traceId = traceparent.slice(3, 35);
  return isSampledSpan(traceparent) ? { traceId, spanId: traceparent.slice(36, 52) } : { traceId };
}

/** Returns whether a valid `traceparent` belongs to a sampled trace: whether its last digit is odd. */
export const isSampledSpan = (traceparent: string): boolean => ODD_DIGITS.includes(traceparent[54] as string);

/** Returns the milliseconds until the deadline, at least 0; undefined when there is no deadline. */
export function remainingMs({ deadlineAt }: RequestContext, now: number = performance.now()): number | undefined {
  return deadlineAt === undefined ? undefined : Math.max(0, Math.round(deadlineAt - now));
}

/** Returns the facts as they are sent to another process. Absent facts are left out, because each call carries them. */
export function toWireContext(context: RequestContext, now: number = performance.now()): WireContext {
  const { requestId, userId, client, priority, weight, maxOutputTokens, traceparent } = context;
  const left = remainingMs(context, now);
  return {
    ...(requestId !== undefined && { requestId }),
    ...(typeof userId === 'string' ? { userId } : client !== undefined && { client }),
    ...(priority !== undefined && priority !== 0 && { priority }),
    ...(weight !== undefined && weight !== 1 && { weight }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(left !== undefined && { remainingMs: left }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** Returns the facts that another process sent. The inverse of {@link toWireContext}. */
export function fromWireContext(wire: WireContext = {}, now: number = performance.now()): RequestContext {
  const { requestId, userId = null, client, priority = 0, weight, remainingMs: left, traceparent } = wire;
  const { maxOutputTokens } = wire;
  const deadlineAt = left === undefined ? undefined : now + left;
  return {
    requestId,
    userId,
    ...(client !== undefined && { client }),
    priority,
    ...(weight !== undefined && { weight }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    traceparent,
    deadlineAt,
  };
}
