export { type ControlServer, type RemoteControl, startControl } from './control-server.ts';
export { controlHandlers } from './handlers.ts';
