import type { OutputCalls } from '../../../../wit/generated/world/output.ts';
import type { CallsOf } from './scope/scope.ts';

/** The streamed answer of a streaming endpoint. Every plugin has it. */
export const outputCalls: CallsOf<keyof OutputCalls> = {
  async 'output.write'(scope, chunk) {
    await scope.write(chunk);
    return undefined;
  },
  async 'output.forward'(scope, handle) {
    const { stream } = scope.get(handle, 'stream');
    for (let values = await stream.next(); values.length > 0; values = await stream.next())
      for (const value of values) await scope.write(value);
    return undefined;
  },
};
