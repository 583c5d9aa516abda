import * as z from 'zod/mini';
import type { WitError } from '../invocation/protocol.ts';

/** A JSON argument. What does not fit its schema is told to the guest as the error of the call. */
export function parsed<T extends z.ZodMiniType>(schema: T, json: string, what: string): z.infer<T> {
  try {
    return schema.parse(JSON.parse(json));
  } catch (cause) {
    const reason = cause instanceof z.core.$ZodError ? z.prettifyError(cause) : String(cause);
    const payload: WitError = {
      kind: 'invalid-input',
      name: 'InvalidArguments',
      message: `${what} is not as it must be: ${reason}`,
      data: '{}',
    };
    throw Object.assign(new Error(payload.message), { payload });
  }
}
