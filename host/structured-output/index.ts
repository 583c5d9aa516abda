export { UnusableStructure } from './refusal.ts';
export { type StructuredOutputs, structuredGrammar } from './structured-outputs.ts';
