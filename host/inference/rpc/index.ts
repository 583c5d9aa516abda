export { CALL_NOT_BEGUN, CallClient, type RpcCallOptions } from './call-client.ts';
export { CallServer } from './call-server.ts';
export type { Feed } from './feed.ts';
export { FrameSocket } from './frame-socket.ts';
export {
  type BeatFrame,
  type HostFrame,
  isCallAnswer,
  type ReplicaAddress,
  type ReplicaFrame,
  type TcpAddress,
} from './frames.ts';
export { connectWithTls } from './transport/tls.ts';
export type { CallContext, ServedMethod, ServedMethods } from './method.ts';
export type { GpuMemory, ReplicaMemory } from './replica-memory.ts';
export type { MetricValue, ReplicaMetric } from './replica-metrics.ts';
