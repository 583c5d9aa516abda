export type { CallContext, Implementation, ImplementationMethod, StartContext, StartImplementation } from './implementation.ts';
export { InferenceException } from './inference-exception.ts';
export { isReplica } from './in-replica.ts';
export { FrameSocket } from './frame-socket.ts';
export { CallServer } from './process/call-server.ts';
export type { HostFrame, ReplicaFrame } from './protocol.ts';
export { type ReplicaCallOptions, ReplicaConnection } from './replica-connection.ts';
export { callWithRetry, DEFAULT_RETRIES, type RetryOptions, streamWithRetry } from './retry.ts';
export { failedDeployment, type Place, ReplicaSet, type ReplicaSetOptions, type ReplicaSetStatus, type ReplicaStatus } from './replica-set.ts';
