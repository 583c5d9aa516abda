export type { CallContext, Implementation, ImplementationMethod, StartContext, StartImplementation } from './implementation.ts';
export { InferenceException } from './inference-exception.ts';
export { isReplica } from './in-replica.ts';
export { callWithRetry, DEFAULT_RETRIES, type RetryOptions, streamWithRetry } from './retry.ts';
export { failedDeployment, type Place, ReplicaSet, type ReplicaSetOptions, type ReplicaSetStatus, type ReplicaStatus } from './replica-set.ts';
