export { type ArgumentRules, type Callable, type CallRules, callRules } from './call-rules.ts';
export { UnusableParameters, UnusableStructure } from './refusal.ts';
export { textPattern } from './text-pattern.ts';
export { type StructuredGrammar, type StructuredOutputs, structuredGrammar } from './structured-outputs.ts';
