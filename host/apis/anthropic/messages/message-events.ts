import * as z from 'zod';
import type { GenerationDetails, TextChunk, ToolCallDelta } from '../../../base/schemas/index.ts';
import {
  AnswerBlock,
  beginningOf,
  Message,
  type MessageOptions,
  SIGNATURE,
  stopOf,
  StopReason,
  Usage,
  usageOf,
} from './message.ts';

const Delta = z.discriminatedUnion('type', [
  z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
  z.object({ type: z.literal('signature_delta'), signature: z.string() }),
]);
type Delta = z.input<typeof Delta>;

/** One event of a streamed answer of `POST /v1/messages`. The name of the event is its `type`. */
export const MessageEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message_start'),
    message: Message.describe(
      'Its `input_tokens` are all tokens of the prompt; 0 where the deployment does not tell them.',
    ),
  }),
  z.object({ type: z.literal('content_block_start'), index: z.int(), content_block: AnswerBlock }),
  z.object({ type: z.literal('content_block_delta'), index: z.int(), delta: Delta }),
  z.object({ type: z.literal('content_block_stop'), index: z.int() }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: StopReason, stop_sequence: z.string().nullable() }),
    usage: Usage,
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('ping') }),
]);
export type MessageEvent = z.input<typeof MessageEvent>;

/** Translates the values of `chat_stream` into the events of Anthropic's API. */
export class MessageEvents {
  readonly #options: MessageOptions;
  #hasBegun = false;
  #hasText = false;
  #isCalling = false;
  /** Number of blocks that have begun. The last one is open while `#openType` names its type. */
  #blockCount = 0;
  #openType: AnswerBlock['type'] | undefined;

  constructor(options: MessageOptions) {
    this.#options = options;
  }

  /** Returns the events of one value. */
  of({ text, reasoning_content: thinking, tool_calls: calls = [], prompt_tokens }: TextChunk): MessageEvent[] {
    const { prefix } = this.#options;
    const shown = !this.#hasText && text.startsWith(prefix) ? text.slice(prefix.length) : text;
    this.#hasText ||= text !== '';
    return [
      ...this.#begin(prompt_tokens),
      ...(thinking ? this.#piece({ type: 'thinking_delta', thinking }) : []),
      ...(shown === '' ? [] : this.#piece({ type: 'text_delta', text: shown })),
      ...calls.flatMap((call) => this.#callPiece(call)),
    ];
  }

  /** Returns the events at the end of the stream. */
  end(details: GenerationDetails | undefined): MessageEvent[] {
    const delta = stopOf(details, { isCalling: this.#isCalling, maxTokens: this.#options.maxTokens });
    return [
      ...this.#begin(),
      ...this.#close(),
      { type: 'message_delta', delta, usage: usageOf(details) },
      { type: 'message_stop' },
    ];
  }

  #begin(promptTokens?: number): MessageEvent[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    return [{ type: 'message_start', message: beginningOf(this.#options.head, promptTokens) }];
  }

  /** Returns the events of a piece of a text or of thinking. It begins a block after a block of another type. */
  #piece(delta: Extract<Delta, { readonly type: 'thinking_delta' | 'text_delta' }>): MessageEvent[] {
    const block: AnswerBlock =
      delta.type === 'text_delta' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' };
    return [...(this.#openType === block.type ? [] : this.#open(block)), this.#delta(delta)];
  }

  /** Returns the events of a piece of a call. The first piece of a call has its id and its name. */
  #callPiece({ id, function: { name, arguments: json } }: ToolCallDelta): MessageEvent[] {
    this.#isCalling = true;
    return [
      ...(id === undefined ? [] : this.#open({ type: 'tool_use', id, name: name ?? '', input: {} })),
      ...(json === '' ? [] : [this.#delta({ type: 'input_json_delta', partial_json: json })]),
    ];
  }

  #delta(delta: Delta): MessageEvent {
    return { type: 'content_block_delta', index: this.#blockCount - 1, delta };
  }

  #open(block: AnswerBlock): MessageEvent[] {
    const closing = this.#close();
    this.#openType = block.type;
    return [...closing, { type: 'content_block_start', index: this.#blockCount++, content_block: block }];
  }

  #close(): MessageEvent[] {
    if (this.#openType === undefined) return [];
    const isThinking = this.#openType === 'thinking';
    this.#openType = undefined;
    return [
      ...(isThinking ? [this.#delta({ type: 'signature_delta', signature: SIGNATURE })] : []),
      { type: 'content_block_stop', index: this.#blockCount - 1 },
    ];
  }
}
