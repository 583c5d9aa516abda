export { type Choice, chooseServer, matchingServers } from './addresses.ts';
export { type AskOptions, ControlConnection } from './client/control-connection.ts';
export { followDeployments } from './client/routed-application.ts';
export { readLogs } from './client/read-logs.ts';
export { askOperator, type LocalApplication, type OperatedServer, OperatorClient } from './client/operator-client.ts';
export type { ControlledApplication, HeldAudio } from './server/handlers.ts';
export type { Address } from './protocol.ts';
