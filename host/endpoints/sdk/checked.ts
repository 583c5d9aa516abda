import * as z from 'zod/mini';
import { validationEntries, validationMessage } from '../../base/schemas/checks/validation.ts';
import { createLog } from './context.ts';
import { HandleScope } from './capabilities/handles.ts';
import { type ErrorRecord, HostError, toErrorRecord } from './host-error.ts';
import type { Host } from './host.ts';
import { isPromise, type MaybePromise } from './maybe-promise.ts';
import { wellFormedText } from './guest/well-formed.ts';

type Issues = Parameters<typeof validationEntries>[0];

/** Returns the parsed value. Throws the error that `blame` makes of the issues. */
export function checked<S extends z.ZodMiniType>(
  schema: S,
  value: unknown,
  blame: (issues: Issues, value: unknown) => HostError,
): z.output<S> {
  const result = z.safeParse(schema, value);
  if (!result.success) throw blame(result.error.issues as unknown as Issues, value);
  return result.data;
}

export function fromClient(issues: Issues, value: unknown): HostError {
  const entries = validationEntries(issues, value);
  // The same words as the host's.
  return new HostError('ValidationError', 'invalid-input', 'Validation error', { data: entries });
}

export function fromHelper(issues: Issues, value: unknown): HostError {
  const entries = validationEntries(issues, value);
  return new HostError(
    'ValidationError',
    'internal',
    `the input or output of a helper does not match its schema: ${validationMessage(entries)}`,
  );
}

/**
 * Returns the error for an invalid output. The host's log has the positions. Clients get neither these nor the message.
 */
export function fromEndpoint(issues: Issues, value: unknown): HostError {
  const entries = validationEntries(issues, value);
  const places = entries.map(({ loc, type }) => ({ loc, type }));
  return new HostError(
    'OutputError',
    'internal',
    `the output of the endpoint does not match its schema: ${validationMessage(entries)}`,
    { data: places },
  );
}

/** Returns the error record for what a plugin has thrown. Logs the stack of its own errors. */
export function recordOf(host: Host, endpoint: string, thrown: unknown): ErrorRecord {
  const record = toErrorRecord(thrown);
  if (thrown instanceof Error && !(thrown instanceof HostError))
    createLog(host).error('endpoint failed', {
      endpoint,
      error: record.name,
      stack: `${thrown.name}: ${thrown.message}\n${thrown.stack ?? ''}`,
    });
  const { kind, name, message, data } = record;
  return { kind, name: wellFormedText(name), message: wellFormedText(message), data };
}

/**
 * Runs `work` and frees the handles that it opened. Throws error records, and logs the stack of the plugin's own
 * errors.
 */
export function runInScope(
  host: Host,
  endpoint: string,
  work: (scope: HandleScope) => MaybePromise<string>,
): MaybePromise<string> {
  const scope = new HandleScope();
  const failed = (thrown: unknown): never => {
    scope.disposeAll();
    throw recordOf(host, endpoint, thrown);
  };
  const ended = (result: string): string => {
    scope.disposeAll();
    return result;
  };
  let result: MaybePromise<string>;
  try {
    result = work(scope);
  } catch (thrown) {
    return failed(thrown);
  }
  return isPromise(result) ? result.then(ended, failed) : ended(result);
}
