import * as z from 'zod';
import type { EndpointDescription } from '../core/endpoint-description.ts';
import { AanaError } from '../core/errors.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { UploadedFile } from '../media/index.ts';
import { type ValidationEntry, validationEntries } from '../schemas/index.ts';
import { echoed } from './echo.ts';

export type { UploadedFile };

/** One run of an endpoint, as its implementation sees it. */
export interface EndpointRun extends RequestContext {
  readonly input: unknown;
  readonly requestId: string;
  readonly userId: string | null;
  /** Milliseconds that the run may take; the signal aborts then. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** Sends one JSON text to the client; resolves when the client has room for more. Streaming endpoints only. */
  readonly write: (chunk: string) => Promise<void>;
  /** Hears how far the run is, from 0 to 1, where somebody wants to know. */
  readonly onProgress?: (fraction: number) => void;
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
  /** Name of the plugin it comes from. */
  readonly plugin?: string;
  /** Names of the deployments that each run calls; a run begins with a place at each of them. */
  readonly deployments?: readonly string[];
  /**
   * What must be done once before the first run; further calls give the same promise. Runs wait for it by themselves.
   */
  initialize?(): Promise<void>;
  /** Gives the input as the run shall see it, or throws a `ValidationError`. */
  validate(input: unknown): unknown;
  /** Gives the output as JSON; a streaming endpoint writes instead, and what it gives is dropped. */
  run(invocation: EndpointRun): Promise<string>;
}

/** More than anybody reads; a request of a few megabytes could have a million. */
const MOST_ENTRIES = 100;

/** The input does not match: one entry for each thing that is wrong, with the value there when it is small. */
export function validationError(entries: readonly ValidationEntry[]): AanaError {
  const data = entries.slice(0, MOST_ENTRIES).map((entry) => ({ ...entry, input: echoed(entry.input) }));
  return new AanaError('ValidationError', 'invalid-input', 'Validation error', { data });
}

/** The input cannot be checked in the time that there is for it. */
export function tooComplex(): AanaError {
  return validationError([
    {
      type: 'too_complex',
      loc: [],
      msg: 'Input should not take so much work to check: send less at once, or nest it less',
      input: null,
    },
  ]);
}

/** Parses an input, or throws the `ValidationError` that says what is wrong with it. */
export function parseInput<T extends z.core.$ZodType>(schema: T, input: unknown): z.core.output<T> {
  const result = z.safeParse(schema, input); // with `reportInput` it would cost several times as much
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => ({ ...issue }));
  throw validationError(validationEntries(issues, input));
}
