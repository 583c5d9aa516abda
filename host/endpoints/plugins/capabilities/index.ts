import { asrCalls } from './recognition/asr.ts';
import { cryptoCalls } from './crypto/crypto.ts';
import type { HostCall } from '../invocation/protocol.ts';
import { deploymentsCalls } from './deployments.ts';
import { httpCalls } from './http.ts';
import { llmCalls } from './llm.ts';
import { mediaCalls } from './media.ts';
import { ocrCalls } from './recognition/ocr.ts';
import { outputCalls } from './output.ts';
import { remoteCalls } from './remote.ts';
import { repositoriesCalls, repositoriesWriteCalls } from './repositories.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';
import { settingsCalls } from './settings.ts';
import { storageCalls } from './storage.ts';
import { uploadsCalls } from './uploads.ts';
import { vectorsCalls } from './vectors.ts';

const calls: CallsOf<HostCall['operation']> = {
  ...uploadsCalls,
  ...mediaCalls,
  ...deploymentsCalls,
  ...asrCalls,
  ...ocrCalls,
  ...llmCalls,
  ...settingsCalls,
  ...cryptoCalls,
  ...storageCalls,
  ...vectorsCalls,
  ...repositoriesCalls,
  ...repositoriesWriteCalls,
  ...httpCalls,
  ...remoteCalls,
  ...outputCalls,
};

/** Answers one call of a guest. */
export function callHost(scope: CapabilityScope, { operation, args }: HostCall): Promise<unknown> {
  const answer = calls[operation] as (scope: CapabilityScope, ...args: HostCall['args']) => Promise<unknown>;
  return answer(scope, ...args);
}
