export { TooComplex } from './budget.ts';
export { compileJsonSchema, type JsonSchemaCheck } from './compile.ts';
export { matchesPattern } from './linear-pattern.ts';
