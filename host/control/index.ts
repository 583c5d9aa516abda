export { type Choice, chooseServer, matchingServers } from './addresses.ts';
export { callControl } from './client.ts';
export { ControlConnection } from './connection.ts';
export { type AudioOrigin, type ControlHandlers, type ControlledApplication, controlHandlers, type HeldAudio, type OpenAudioOptions } from './handlers.ts';
export type { Address, ApplicationReport, ControlValue, DeploymentMethods, DeploymentReport, PluginStatus, ReplicaReport } from './protocol.ts';
export { deploymentReports } from './report.ts';
export { type ControlServer, startControl } from './server.ts';
