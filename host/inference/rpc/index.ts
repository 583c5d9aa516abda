export { CALL_NOT_BEGUN, CallClient, type RpcCallOptions } from './call-client.ts';
export { CallServer } from './call-server.ts';
export type { Feed } from './feed.ts';
export { FrameSocket } from './frame-socket.ts';
export { type HostFrame, isCallAnswer, type ReplicaAddress, type ReplicaFrame } from './frames.ts';
export type { CallContext, ServedMethod, ServedMethods } from './method.ts';
export type { GpuMemory, ReplicaMemory } from './replica-memory.ts';
export type { MetricValue, ReplicaMetric } from './replica-metrics.ts';
