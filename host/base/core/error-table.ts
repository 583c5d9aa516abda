// Every error that this package throws: the one place that states its kind, its status and when it occurs. `fail` makes
// the errors, and `docs/errors.md` is made from the table. The folder `error-table` has a file for each group.
import type { ErrorDefinition } from './error-table/definition.ts';
import { DEPLOYMENTS } from './error-table/deployments.ts';
import { MEDIA } from './error-table/media.ts';
import { OPENAI } from './error-table/openai.ts';
import { PLUGINS } from './error-table/plugins.ts';
import { PROGRAM_ERRORS } from './error-table/programs.ts';
import { REQUESTS } from './error-table/requests.ts';
import { SOCKETS } from './error-table/sockets.ts';
import { STORED } from './error-table/stored.ts';
import { TOOLS } from './error-table/tools.ts';

export { type ErrorKind, type Fault, KINDS } from './error-table/definition.ts';
export { PROGRAM_ERRORS };

/** Errors of requests, in the order of the documentation. */
export const REQUEST_ERRORS = {
  ...REQUESTS,
  ...SOCKETS,
  ...TOOLS,
  ...OPENAI,
  ...STORED,
  ...MEDIA,
  ...DEPLOYMENTS,
  ...PLUGINS,
};

const ERRORS = { ...REQUEST_ERRORS, ...PROGRAM_ERRORS };

/** The name of an error of this package. */
export type ErrorName = keyof typeof ERRORS;

export const ERROR_NAMES = Object.keys(ERRORS) as readonly ErrorName[];

/** Returns the definition of an error of this package. */
export function definitionOf(name: ErrorName): ErrorDefinition {
  return ERRORS[name];
}

/** Returns whether an error is one of this package. */
export function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(ERRORS, name);
}

/** Returns the definition of an error, or undefined if it is not one of this package. */
export function findDefinition(name: string): ErrorDefinition | undefined {
  return isErrorName(name) ? ERRORS[name] : undefined;
}

type KeysOf<N extends ErrorName> = (typeof ERRORS)[N] extends { readonly data: readonly (infer K extends string)[] }
  ? K
  : never;
type OptionalKeys<K extends string> = K extends `${infer Key}?` ? Key : never;
type RequiredKeys<K extends string> = K extends `${string}?` ? never : K;

/** The data of an error. */
export type ErrorData<N extends ErrorName> = (typeof ERRORS)[N] extends { readonly data: string }
  ? unknown
  : { readonly [K in RequiredKeys<KeysOf<N>>]: unknown } & { readonly [K in OptionalKeys<KeysOf<N>>]?: unknown };

/** Errors that always have data. */
export type NameWithData = { [N in ErrorName]: [RequiredKeys<KeysOf<N>>] extends [never] ? never : N }[ErrorName];
