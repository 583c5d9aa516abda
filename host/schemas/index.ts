export * from './answers.ts';
export * from './artifact.ts';
export * from './asr.ts';
export * from './chat.ts';
export * from './dialog.ts';
export * from './media.ts';
export { hasScores, TokenScores } from './token-scores.ts';
export { ResponseFormat, StructuredOutputs } from './structured-outputs.ts';
export * from './validation.ts';
