import { randomBytes } from 'node:crypto';
import { threadsNow } from '../../../base/core/clock.ts';
import type { LogLevel } from '../../../base/core/log/logger.ts';
import { worldImports } from '../../../../wit/generated/world/imports.ts';
import { isDeep } from '../invocation/border.ts';
import type { Bridge, Invocation } from './bridge.ts';
import { report } from './progress.ts';

/** Maximum bytes of one call. */
export const maxRandomBytes = 65_536;
const maxLineChars = 16 * 1024;
const maxLines = 1_000;

/**
 * Returns the `aana:host/*` interfaces for one instance, in the form that the glue takes. `current` returns the
 * invocation that the instance runs, and throws when there is none. A resource is an object with a handle, a number
 * that is valid only in its invocation.
 */
export function hostImports(bridge: Bridge, current: () => Invocation): Record<string, Record<string, unknown>> {
  class Resource {
    readonly handle: number;
    readonly #owner: Invocation;

    constructor(handle: number) {
      this.handle = handle;
      this.#owner = current();
      this.#owner.held.add(this);
    }

    [Symbol.dispose](): void {
      if (this.#owner.held.delete(this)) bridge.post({ type: 'drop', id: this.#owner.id, handle: this.handle });
    }
  }

  const asking = worldImports((operation, ...args) => bridge.call(current(), operation, ...args), Resource);

  return {
    'aana:host/types': {},
    'aana:host/log': {
      log: (level: LogLevel, message: string, fields: string) => writeLog(bridge, current(), level, message, fields),
    },
    'aana:host/random': { bytes: (length: number) => new Uint8Array(randomBytes(Math.min(length, maxRandomBytes))) },
    'aana:host/invocation': {
      requestId: () => current().requestId,
      remainingMs: () => BigInt(Math.max(0, Math.round(current().deadlineAt - threadsNow()))),
      isCancelled: () => bridge.isCancelled(current()),
      user: () => current().userId ?? undefined,
      priority: () => current().priority ?? 0,
      traceparent: () => current().traceparent,
    },
    'aana:host/progress': {
      report: (fraction: number, text: string) => report(bridge, current(), fraction, text),
      reportStep: (fraction: number, until: number, text: string) => report(bridge, current(), fraction, text, until),
    },
    ...asking,
    'aana:host/output': { ...asking['aana:host/output'], write: (chunk: string) => bridge.write(current(), chunk) },
  };
}

/**
 * Writes a line of the guest's log. `invocation` is undefined while the instance describes itself. Lines over the limit
 * are dropped, long lines are cut, and fields that are nested too deep are left out.
 */
export function writeLog(
  bridge: Bridge,
  invocation: Invocation | undefined,
  level: LogLevel,
  message: string,
  fields: string,
): void {
  const line = ++(invocation ?? bridge).lines;
  if (line > maxLines + 1) return;
  if (line > maxLines)
    bridge.post({
      type: 'log',
      id: invocation?.id,
      level: 'warn',
      message: `further lines are dropped after ${maxLines}`,
      fields: '',
    });
  else
    bridge.post({
      type: 'log',
      id: invocation?.id,
      level,
      message: message.slice(0, maxLineChars),
      fields: fields.length > maxLineChars || isDeep(fields) ? '' : fields,
    });
}
