import * as z from 'zod/mini';
import type { WitError } from '../invocation/protocol.ts';

/** Parses a JSON argument. An invalid value becomes the error of the guest's call. */
export function parsed<T extends z.ZodMiniType>(schema: T, json: string, what: string): z.infer<T> {
  try {
    return schema.parse(JSON.parse(json));
  } catch (cause) {
    const reason = cause instanceof z.core.$ZodError ? z.prettifyError(cause) : String(cause);
    const payload: WitError = {
      kind: 'invalid-input',
      name: 'InvalidArguments',
      message: `${what} is invalid: ${reason}`,
      data: '{}',
    };
    throw Object.assign(new Error(payload.message), { payload });
  }
}
