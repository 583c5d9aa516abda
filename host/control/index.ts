export { type Choice, chooseServer, matchingServers } from './addresses.ts';
export { callControl } from './client/call-control.ts';
export { type AskOptions, ControlConnection } from './client/control-connection.ts';
export type {
  AudioOrigin,
  ControlHandlers,
  ControlledApplication,
  GivenConfiguration,
  HeldAudio,
  OpenAudioOptions,
} from './server/handlers.ts';
export type { Address, ControlValue, DeploymentMethods, DeploymentReport, ReplicaReport } from './protocol.ts';
export {
  ApplicationReport,
  ApplyEvent,
  ChangePlan,
  LogArea,
  LogLevel,
  LogLevelChange,
  LogLevels,
  LogRecord,
  PluginStatus,
} from './protocol.ts';
export { EndpointReport } from './endpoint-report.ts';
export type { ListedDelivery, ListedTask, ListedWebhook, TaskAttempt } from './work-operations.ts';
