export { type CallRules, callRules } from './call-rules.ts';
export { UnusableParameters, UnusableStructure } from './refusal.ts';
export { type Quotation, Quotes } from './quotes/quotes.ts';
export { textPattern } from './text-pattern.ts';
export { structuredGrammar } from './structured-outputs.ts';
