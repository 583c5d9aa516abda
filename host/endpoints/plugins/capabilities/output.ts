import type { OutputCalls } from '../../../../wit/generated/world/output.ts';
import { bytesOfBase64 } from './scope/base64.ts';
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
    await answer.sendBytes(bytesOfBase64(base64, 'a piece of an answer'));
    return undefined;
  },
};
