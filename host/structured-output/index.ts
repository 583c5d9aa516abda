export { type ArgumentRules, type Callable, type CallRules, callRules } from './call-rules.ts';
export { UnusableStructure } from './refusal.ts';
export { textPattern } from './text-pattern.ts';
export { type StructuredOutputs, structuredGrammar } from './structured-outputs.ts';
