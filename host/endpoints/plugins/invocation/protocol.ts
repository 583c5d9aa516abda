import type { ConcurrencyCalls } from '../../../../wit/generated/world/concurrency.ts';
import type { HostCalls } from '../../../../wit/generated/world/calls.ts';
import type { Info as WitEndpoint } from '../../../../wit/generated/world/endpoint.ts';
import type { Error as WitError } from '../../../../wit/generated/world/types.ts';

export type { HostCalls, WitEndpoint, WitError };

/** Calls that a capability answers. Those of `concurrency` are about other calls. */
export type HostOperation = Exclude<keyof HostCalls, keyof ConcurrencyCalls>;
/** A call of a guest. Handles are numbers of one invocation. */
export type HostCall = {
  readonly [O in HostOperation]: { readonly operation: O; readonly args: HostCalls[O]['args'] };
}[HostOperation];
export type HostReply = { readonly value: unknown } | { readonly error: WitError };
/** What the endpoint of a guest returns. */
export type GuestResult = { readonly ok: string } | { readonly err: WitError };
