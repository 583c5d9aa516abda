import { asrCalls } from './asr.ts';
import type { CapabilityCalls } from './calls.ts';
import { httpCalls } from './http.ts';
import { imageCalls } from './image.ts';
import { llmCalls } from './llm.ts';
import { remoteCalls } from './remote.ts';
import { repositoriesCalls, repositoriesWriteCalls } from './repositories.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';
import { storageCalls } from './storage.ts';

const calls: CallsOf<keyof CapabilityCalls> = {
  ...imageCalls,
  ...asrCalls,
  ...llmCalls,
  ...storageCalls,
  ...repositoriesCalls,
  ...repositoriesWriteCalls,
  ...httpCalls,
  ...remoteCalls,
};

/** Does what a guest asks of a capability. */
export function callCapability<O extends keyof CapabilityCalls>(
  scope: CapabilityScope,
  operation: O,
  args: CapabilityCalls[O]['args'],
): Promise<CapabilityCalls[O]['value']> {
  return calls[operation](scope, ...args);
}
