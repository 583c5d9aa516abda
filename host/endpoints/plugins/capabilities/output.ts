import type { OutputCalls } from '../../../../wit/generated/world/output.ts';
import { fail } from '../../../base/core/errors.ts';
import type { CallsOf } from './scope/scope.ts';

/** The streamed answer of a streaming endpoint, and an answer that is bytes. Every plugin has them. */
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
  async 'output.begin'({ answer }, head) {
    answer.begin(head);
    return undefined;
  },
  async 'output.send'({ answer }, base64) {
    const bytes = Buffer.from(base64, 'base64');
    // Node leaves out what is no base64.
    if (4 * Math.ceil(bytes.length / 3) !== base64.length)
      throw fail('InvalidArguments', 'the bytes of an answer are no base64 with padding');
    await answer.sendBytes(bytes);
    return undefined;
  },
};
