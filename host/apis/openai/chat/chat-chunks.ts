import * as z from 'zod';
import type { GenerationDetails, TextChunk } from '../../../base/schemas/index.ts';
import { AnswerLogprobs, FinishReason, logprobsOf, Quotations, Usage } from '../text/answer-values.ts';
import { type AnswerHead, usageOf } from '../text/values.ts';
import { CallDelta, CallDeltas } from './call-shapes.ts';
import type { AnswerOptions } from './chat-answer.ts';

const Delta = z.object({
  role: z.literal('assistant').optional(),
  content: z.string().nullable().optional(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(CallDelta).optional(),
  quotations: Quotations,
});

/** One event of a streamed answer of `POST /v1/chat/completions`. The text `[DONE]` follows the last one. */
export const ChatCompletionChunk = z.object({
  id: z.string().describe('The same in all events of a stream.'),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: Delta,
      logprobs: AnswerLogprobs.nullable(),
      finish_reason: FinishReason.nullable(),
    }),
  ),
  usage: Usage.nullable().optional().describe('Only with `stream_options.include_usage`; null but in the last event.'),
});
type Chunk = z.input<typeof ChatCompletionChunk>;
type Delta = z.input<typeof Delta>;

export interface ChatChunksOptions extends AnswerOptions {
  readonly head: AnswerHead;
  /** Number of answers. */
  readonly count: number;
  readonly includeUsage: boolean;
}

/** Translates the values of `chat_stream` into the events of OpenAI's API. */
export class ChatChunks {
  readonly #options: ChatChunksOptions;
  /** Answers that have begun. */
  readonly #begun = new Set<number>();
  /** Answers whose text has begun. */
  readonly #written = new Set<number>();
  /** Calls of the answers that call tools. */
  readonly #calls = new Map<number, CallDeltas>();

  constructor(options: ChatChunksOptions) {
    this.#options = options;
  }

  /** Returns the events of one value. */
  of({ index = 0, text, reasoning_content: reasoning, tool_calls: calls, logprobs }: TextChunk): Chunk[] {
    const { prefix } = this.#options;
    const isFirst = text !== '' && !this.#written.has(index);
    if (isFirst) this.#written.add(index);
    const content = isFirst && text.startsWith(prefix) ? text.slice(prefix.length) : text;
    const pieces = calls?.length ? this.#callsOf(index).of(calls) : [];
    const delta: Delta = {
      ...(content !== '' && { content }),
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      ...(pieces.length > 0 && { tool_calls: pieces }),
    };
    const begin = this.#begin(index);
    const isEmpty = Object.keys(delta).length === 0 && logprobs === undefined;
    return isEmpty ? begin : [...begin, this.#chunk(index, delta, { logprobs })];
  }

  /** Returns the events at the end of the stream. */
  end(details: GenerationDetails | undefined): (Chunk & { readonly usage?: Chunk['usage'] })[] {
    const { count, includeUsage } = this.#options;
    const ends = Array.from({ length: count }, (_, index) => {
      const known = details?.choices?.[index] ?? details;
      const finish = known?.finish_reason ?? (this.#calls.has(index) ? 'tool_calls' : 'stop');
      return [
        ...this.#begin(index),
        this.#chunk(index, { ...(known?.quotations && { quotations: known.quotations }) }, { finish }),
      ];
    }).flat();
    if (!includeUsage || !details) return ends;
    return [...ends, { ...this.#head(), choices: [], usage: usageOf(details) }];
  }

  #callsOf(index: number): CallDeltas {
    const calls = this.#calls.get(index) ?? new CallDeltas(this.#options.customNames);
    this.#calls.set(index, calls);
    return calls;
  }

  /** Returns the first event of an answer, which has its role; nothing if it was sent. */
  #begin(index: number): Chunk[] {
    if (this.#begun.has(index)) return [];
    this.#begun.add(index);
    return [this.#chunk(index, { role: 'assistant', content: '' })];
  }

  #chunk(
    index: number,
    delta: Delta,
    {
      logprobs,
      finish = null,
    }: {
      readonly logprobs?: TextChunk['logprobs'];
      readonly finish?: Chunk['choices'][number]['finish_reason'];
    } = {},
  ): Chunk {
    return {
      ...this.#head(),
      choices: [{ index, delta, logprobs: logprobsOf(logprobs), finish_reason: finish }],
      ...(this.#options.includeUsage && { usage: null }),
    };
  }

  #head(): Pick<Chunk, 'id' | 'object' | 'created' | 'model'> {
    const { id, created, model } = this.#options.head;
    return { id, object: 'chat.completion.chunk', created, model };
  }
}
