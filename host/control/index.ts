export { callControl } from './client.ts';
export type { ControlHandlers, ControlOperation, ControlValue, PluginStatus } from './protocol.ts';
export { startControl } from './server.ts';
