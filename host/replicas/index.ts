export type { CallContext, Implementation, ImplementationMethod, StartContext, StartImplementation } from './implementation.ts';
export { failedDeployment, ReplicaSet, type ReplicaSetOptions, type ReplicaSetStatus, type ReplicaStatus } from './replica-set.ts';
