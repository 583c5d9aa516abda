export { connect, type AttachOptions } from './connect.ts';
export type { AudioSource, LogOptions, RunningApplication } from './running-application.ts';
