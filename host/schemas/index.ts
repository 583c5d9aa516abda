export * from './artifact.ts';
export * from './asr.ts';
export * from './chat.ts';
export * from './dialog.ts';
export * from './media.ts';
export { ResponseFormat, StructuredOutputs } from './structured-outputs.ts';
export * from './validation.ts';
