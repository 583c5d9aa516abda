import {
  type GenerationDetails,
  hasScores,
  isNotice,
  type TextChunk,
  type ToolCallDelta,
} from '../../../base/schemas/index.ts';
import type { LooseCalls, LooseText } from './loose-calls.ts';
import { newCallId } from './tool-call-ids.ts';

/** The pieces of an answer, and its details at the end. */
export type Chunks = AsyncIterable<TextChunk, GenerationDetails>;

/** Makes calls of tools out of text that `loose` finds to be calls. An answer with calls ends with `tool_calls`. */
export async function* withCalls(chunks: Chunks, loose: LooseCalls): AsyncGenerator<TextChunk, GenerationDetails> {
  let looseCount = 0;
  let markedCount = 0;
  const toChunk = ({ text, calls }: LooseText, { tool_calls: marked = [], ...rest }: Partial<TextChunk>): TextChunk => {
    const deltas: ToolCallDelta[] = marked.map((delta) => ({ ...delta, index: looseCount + delta.index }));
    markedCount = Math.max(markedCount, ...marked.map(({ index }) => index + 1));
    for (const call of calls) {
      deltas.push({ index: markedCount + looseCount, id: newCallId(), type: 'function', function: { ...call } });
      looseCount += 1;
    }
    return { ...rest, text, ...(deltas.length > 0 && { tool_calls: deltas }) };
  };
  const iterator = chunks[Symbol.asyncIterator]();
  let isOpen = true;
  try {
    for (;;) {
      const step = await iterator.next();
      if (step.done) {
        isOpen = false;
        const last = toChunk(loose.finish(), {});
        if (!isEmpty(last)) yield last;
        const isCall = looseCount + markedCount > 0 && step.value.finish_reason === 'stop';
        return isCall ? { ...step.value, finish_reason: 'tool_calls' } : step.value;
      }
      const chunk = toChunk(loose.push(step.value.text), step.value);
      if (!isEmpty(chunk)) yield chunk;
    }
  } finally {
    if (isOpen) await iterator.return?.();
  }
}

const isEmpty = (chunk: TextChunk): boolean =>
  chunk.text === '' && !chunk.reasoning_content && !chunk.tool_calls && !isNotice(chunk) && !hasScores(chunk);
