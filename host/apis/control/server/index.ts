export { type ControlServer, startControl } from './control-server.ts';
export { controlHandlers } from './handlers.ts';
