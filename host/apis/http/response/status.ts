import { findDefinition, KINDS } from '../../../base/core/error-table.ts';
import { AanaError, toErrorRecord } from '../../../base/core/errors.ts';
import { type CompatStatus, HttpError } from './error-body.ts';

/** The status of most errors in the original system, also of unknown ones. */
export const ORIGINAL_STATUS = 400;

/** Returns the status of anything that was thrown. An error of a router of the application keeps its own status. */
export function statusOfThrown(thrown: unknown, compat: CompatStatus = 'none'): number {
  const given = thrownStatus(thrown);
  const { name, kind } = toErrorRecord(thrown);
  const isRouters = given !== undefined && !(thrown instanceof HttpError);
  if (compat === 'original' && !isRouters && kind !== 'cancelled')
    return findDefinition(name)?.original ?? ORIGINAL_STATUS;
  return given ?? KINDS[kind].status;
}

/** Returns the status of an error that a handler has thrown with `ctx.throw` or `http-errors`. */
function thrownStatus(error: unknown): number | undefined {
  if (error instanceof AanaError && !(error instanceof HttpError)) return undefined;
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

/** Returns the status of anything that was thrown on the path of the Model Context Protocol. */
export function mcpStatusOf(thrown: unknown): number {
  const status = statusOfThrown(thrown);
  return status === 422 ? 400 : status;
}
