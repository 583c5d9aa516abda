import { AanaError, cancelledError, fail } from '../../../base/core/errors.ts';
import type { LogFields } from '../../../base/core/log/logger.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { WitError } from './protocol.ts';

/** Returns the error for a guest that trapped. `said` is the guest's own last message, which can contain anything. */
export function trapError(plugin: string, endpoint: string, reason: string, said?: string): AanaError {
  const trap = isOfFullStack(reason) ? `the stack is full: a function calls itself too often (${reason})` : reason;
  const why = said === undefined ? trap : `${said} (${trap})`;
  return fail('PluginTrapError', `plugin ${plugin} failed in ${endpoint}: ${why}`, {
    data: { plugin, endpoint },
    unexpected: said !== undefined,
  });
}

/** Most components have a stack at the beginning of their memory too, and a full one ends just below the address 0. */
const STACK_MISS_BYTES = 2 ** 16;

function isOfFullStack(reason: string): boolean {
  if (reason.includes('call stack exhausted')) return true;
  const address = /memory fault at wasm address (0x[\da-f]{1,9}) /.exec(reason)?.[1];
  return address !== undefined && Math.abs(Number(address) - 2 ** 32) <= STACK_MISS_BYTES;
}

export function overDeadline(endpoint: string, deadlineMs: number): AanaError {
  return fail('InvocationTimeout', `${endpoint} did not finish within ${deadlineMs} ms`, {
    data: { deadline_ms: deadlineMs },
  });
}

export function overCpuLimit(endpoint: string, cpuMs: number): AanaError {
  return fail('InvocationTimeout', `${endpoint} computed for more than ${cpuMs} ms in all`, {
    data: { cpu_ms: cpuMs },
  });
}

export function overCpuSlice(endpoint: string, cpuSliceMs: number): AanaError {
  return fail('InvocationTimeout', `${endpoint} computed for more than ${cpuSliceMs} ms at a stretch`, {
    data: { cpu_slice_ms: cpuSliceMs },
  });
}

/** Returns whether a guest ended because an allocation failed, as the interpreter of plugins in TypeScript says it. */
export const isOutOfMemory = ({ kind, name, message }: WitError): boolean =>
  kind === 'internal' && name === 'InternalError' && message === 'out of memory';

export function outOfMemory(plugin: string, endpoint: string, limit: number): AanaError {
  return fail(
    'OutOfMemory',
    `plugin ${plugin} needs more memory than ${limit} bytes in ${endpoint}: memory_bytes in plugin_limits is the ` +
      `limit of the server, plugin_grants may set another one for the plugin, and its plugin.json a lower one`,
    { data: { limit } },
  );
}

export function unavailable(plugin: string, what: string): AanaError {
  return fail('PluginUnavailable', `plugin ${plugin} ${what}`);
}

/** Returns the error for an invocation whose signal was aborted. */
export function endReason(reason: unknown): unknown {
  if (reason instanceof AanaError) return reason;
  return toWitError(reason).kind === 'deadline-exceeded' ? reason : cancelledError();
}

/**
 * Returns the log fields for the JSON fields of a guest. They lie under one key, so that none of them replaces a field
 * of the host such as `plugin` or `request`. `content` stays separate, because the application's logger can leave it
 * out. Text that is not JSON is left out.
 */
export function guestFields(json: string): LogFields {
  if (json === '') return {};
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== 'object' || parsed === null) return { fields: { value: parsed } };
    if (!('content' in parsed)) return { fields: parsed };
    const { content, ...fields } = parsed;
    return { fields, content };
  } catch {
    return {};
  }
}
