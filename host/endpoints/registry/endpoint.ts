import type * as z from 'zod';
import type { EndpointDescription } from '../../base/core/endpoint-description.ts';
import { type AanaError, fail } from '../../base/core/errors.ts';
import type { RequestContext } from '../../base/core/request-context.ts';
import type { UploadedFile } from '../../io/media/index.ts';
import { checkedValue, MOST_ENTRIES, type ValidationEntry, validationEntries } from '../../base/schemas/index.ts';
import type { AnswerSink } from './bytes-answers.ts';
import { echoed } from './echo.ts';

export type { UploadedFile };

/** One run of an endpoint, for its implementation. */
export interface EndpointRun extends RequestContext {
  readonly input: unknown;
  readonly requestId: string;
  readonly userId: string | null;
  /** Time limit of the run in milliseconds. The signal aborts after it. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** Sends one JSON text to the client. Resolves when the client has room for more. Only for streaming endpoints. */
  readonly write: (chunk: string) => Promise<void>;
  /** Takes an answer that is bytes while it is made. Default: such an answer is returned as JSON. */
  readonly answer?: AnswerSink | undefined;
  /** Called with the progress of the run, from 0 to 1, if somebody watches it. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/** Options that a program can set for every endpoint that it serves. */
export interface ServedOptions extends Pick<
  EndpointDescription,
  'name' | 'path' | 'tags' | 'deferOption' | 'executionTimeoutS'
> {
  /** Called before a request is read. An error that it throws is the answer. */
  readonly admit?: (request: { readonly defer: boolean }) => Promise<void>;
  /** Whether only admins may run it, where there are API keys. */
  readonly adminRequired?: boolean;
  /** Whether only users with an active subscription may run it, where there are API keys. */
  readonly activeSubscriptionRequired?: boolean;
  /** Members of an OpenAPI operation that replace those of the documentation. */
  readonly openapiExtra?: Readonly<Record<string, unknown>>;
}

/** An endpoint that can be invoked: from a plugin, or from host code of an embedding program. */
export interface ServedEndpoint extends EndpointDescription, ServedOptions {
  /** Name of the plugin that it comes from. */
  readonly plugin?: string;
  /** Names of the deployments that its runs call. A run of a host function begins with a place at each of them. */
  readonly deployments?: readonly string[];
  /**
   * Prepares the endpoint before its first run. Further calls return the same promise. Runs wait for it by themselves.
   */
  initialize?(): Promise<void>;
  /** Returns the input for the run. Throws `ValidationError`. */
  validate(input: unknown): unknown;
  /** Returns the output as JSON. A streaming endpoint writes its values instead, and its return value is ignored. */
  run(invocation: EndpointRun): Promise<string>;
}

/**
 * Returns the error for an input that does not match. It has one entry for each mismatch, with the value there if it is
 * small.
 */
export function validationError(entries: readonly ValidationEntry[]): AanaError {
  const data = entries.slice(0, MOST_ENTRIES).map((entry) => ({ ...entry, input: echoed(entry.input) }));
  return fail('ValidationError', 'Validation error', { data });
}

/** Returns the error for an input that takes too much work to check. */
export function tooComplex(): AanaError {
  return validationError([
    {
      type: 'too_complex',
      loc: [],
      msg: 'Input should take less work to check: send less data at once, or nest it less',
      input: null,
    },
  ]);
}

/** Parses an input. Throws `ValidationError` with its mismatches. */
export function parseInput<T extends z.core.$ZodType>(schema: T, input: unknown): z.core.output<T> {
  const { value, issues } = checkedValue(schema, input);
  if (issues) throw validationError(validationEntries(issues, input));
  return value;
}
