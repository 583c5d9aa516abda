import { fail } from '../../../../base/core/errors.ts';
import type { ChatOutputWithDetails, GenerationDetails, TextChunk } from '../../../../base/schemas/index.ts';
import type { LlmCalls } from '../../../../../wit/generated/world/llm.ts';
import { heldImages } from '../scope/held-images.ts';
import { openStream } from '../scope/open-stream.ts';
import type { CallsOf } from '../scope/scope.ts';
import { witCompletion, witEnd, witPiece } from './completion-answer.ts';
import { completionArguments } from './completion-request.ts';

/** Text generation with everything that deployments can do. */
export const completionCalls: CallsOf<
  Extract<keyof LlmCalls, `llm.complete${string}` | `llm.${string}-pieces` | 'llm.end'>
> = {
  async 'llm.complete'(scope, deployment, request, images) {
    const port = scope.deployment(deployment); // refuses before an image is decoded
    const pictures = images.length > 0 ? await heldImages(scope, images) : [];
    const args = { ...completionArguments(request, pictures), details: true };
    const output = await port.call('chat', args, scope.callOptions());
    const startedAt = performance.now();
    const completion = witCompletion(output as ChatOutputWithDetails);
    scope.charge(performance.now() - startedAt);
    return completion;
  },
  async 'llm.complete-stream'(scope, deployment, request, images) {
    scope.deployment(deployment);
    const pictures = images.length > 0 ? await heldImages(scope, images) : [];
    return openStream(scope, deployment, 'chat_stream', completionArguments(request, pictures));
  },
  async 'llm.next-pieces'(scope, stream) {
    const values = await scope.get(stream, 'stream').stream.nextValues();
    return values.map((value) => witPiece(value as TextChunk));
  },
  async 'llm.end'(scope, handle) {
    const { stream } = scope.get(handle, 'stream');
    if (!stream.hasEnded) throw fail('StreamNotEnded', 'the answer has not ended: read or forward it to its end first');
    return witEnd(stream.returned as GenerationDetails | undefined);
  },
  async 'llm.forward-pieces'(scope, handle) {
    const { stream } = scope.get(handle, 'stream');
    for (let values = await stream.next(); values.length > 0; values = await stream.next())
      for (const value of values) await scope.write(value);
    return undefined;
  },
};
