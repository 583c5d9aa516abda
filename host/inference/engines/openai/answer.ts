import * as z from 'zod/mini';
import type { GenerationDetails, TextChunk, ToolCallDelta } from '../../../base/schemas/index.ts';
import { numbered } from '../chat/choices.ts';
import { AnswerFormatError } from './format-error.ts';
import { Logprobs, scoredTokens } from './logprobs.ts';

// The rule for promises takes `z.catch` for the method of a promise.
const { catch: orElse } = z;

const count = orElse(z.optional(z.nullable(z.int().check(z.minimum(0)))), undefined);
const duration = orElse(z.optional(z.number().check(z.minimum(0))), undefined);

const ServerError = z.object({
  message: orElse(z.string(), ''),
  code: orElse(z.optional(z.nullable(z.union([z.string(), z.number()]))), undefined),
  type: orElse(z.optional(z.nullable(z.string())), undefined),
  n_prompt_tokens: count,
  n_ctx: count,
});
/** The error of a server, as far as it is used. */
export type ServerError = z.infer<typeof ServerError>;

/** OpenAI wraps the error; older versions of vLLM send it bare. */
const ErrorBody = z.union([z.object({ error: ServerError }), z.object({ error: z.string() }), ServerError]);

const CallPiece = z.object({
  index: z.int().check(z.minimum(0), z.maximum(1000)),
  id: z.optional(z.nullable(z.string())),
  function: z.optional(
    z.nullable(z.object({ name: z.optional(z.nullable(z.string())), arguments: z.optional(z.nullable(z.string())) })),
  ),
});

const Chunk = z.object({
  choices: z.array(
    z.object({
      index: z.optional(z.int().check(z.minimum(0))),
      delta: z.optional(
        z.object({
          content: z.optional(z.nullable(z.string())),
          reasoning_content: z.optional(z.nullable(z.string())),
          // The name of newer versions of vLLM.
          reasoning: orElse(z.optional(z.nullable(z.string())), undefined),
          tool_calls: z.optional(z.nullable(z.array(CallPiece))),
        }),
      ),
      text: z.optional(z.nullable(z.string())),
      finish_reason: z.optional(z.nullable(z.string())),
      // Of vLLM: a stop string, or the number of a stop token.
      stop_reason: orElse(z.optional(z.nullable(z.union([z.string(), z.number()]))), undefined),
      logprobs: z.optional(z.nullable(Logprobs)),
    }),
  ),
  usage: z.optional(
    z.nullable(
      z.object({
        prompt_tokens: count,
        completion_tokens: count,
        completion_tokens_details: z.optional(z.nullable(z.object({ reasoning_tokens: count }))),
      }),
    ),
  ),
  timings: z.optional(z.object({ prompt_ms: duration, predicted_ms: duration })),
});

/** Parses JSON of a server. Throws {@link AnswerFormatError}. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AnswerFormatError('it is not JSON');
  }
}

type Choice = z.infer<typeof Chunk>['choices'][number];

/** Why an answer ended. */
type End = Pick<GenerationDetails, 'finish_reason' | 'stop_reason'>;

/** The end of an answer for which a server has given no reason. */
const ENDED: End = { finish_reason: 'stop' };

/** Reads the events of the answers to one request and collects their details. */
export class AnswerReader {
  readonly #startedMs = performance.now();
  /** Why each answer ended; undefined until the server has said it. */
  readonly #ends: (End | undefined)[];
  #firstMs: number | undefined;
  #usage: GenerationDetails['usage'] | undefined;
  #promptMs: number | undefined;
  #completionMs: number | undefined;

  readonly #topLogprobs: number;

  /** `count` answers are wanted, and each token with at most `topLogprobs` alternatives. */
  constructor(count = 1, topLogprobs = 0) {
    this.#topLogprobs = topLogprobs;
    this.#ends = Array.from({ length: count }, () => undefined);
  }

  /** Whether the server has said why each answer ended. */
  get isWhole(): boolean {
    return this.#ends.every((end) => end !== undefined);
  }

  /**
   * Returns what an event adds to the answers; undefined when it has an error instead. Throws for an event of another
   * form.
   */
  read(data: string): readonly TextChunk[] | undefined {
    const value = parseJson(data);
    const parsed = Chunk.safeParse(value);
    if (!parsed.success) {
      if (parseServerError(value)) return undefined;
      throw new AnswerFormatError('an event has an unknown form');
    }
    const { choices, usage, timings } = parsed.data;
    if (usage)
      this.#usage = {
        prompt_tokens: usage.prompt_tokens ?? 0,
        cached_tokens: 0, // the server knows one caller, so its count would tell of the prompts of other users
        completion_tokens: usage.completion_tokens ?? 0,
        ...(usage.completion_tokens_details?.reasoning_tokens && {
          reasoning_tokens: usage.completion_tokens_details.reasoning_tokens,
        }),
      };
    this.#promptMs = timings?.prompt_ms ?? this.#promptMs;
    this.#completionMs = timings?.predicted_ms ?? this.#completionMs;
    return choices.flatMap((choice) => this.#chunkOf(choice));
  }

  /** Returns what a choice adds to its answer; nothing when it adds nothing. */
  #chunkOf(choice: Choice): TextChunk[] {
    const { index = 0, delta, finish_reason: reason, stop_reason: stop } = choice;
    if (index >= this.#ends.length) throw new AnswerFormatError('it has more answers than were asked for');
    if (reason != null)
      this.#ends[index] = { finish_reason: toReason(reason), ...(typeof stop === 'string' && { stop_reason: stop }) };
    const text = delta?.content ?? choice.text ?? '';
    const reasoning = delta?.reasoning_content ?? delta?.reasoning;
    const calls = delta?.tool_calls?.map(toDelta);
    const hasContent = text !== '' || Boolean(reasoning) || Boolean(calls?.length);
    if (hasContent) this.#firstMs ??= performance.now();
    const logprobs = choice.logprobs ? scoredTokens(choice.logprobs, this.#topLogprobs) : undefined;
    if (!hasContent && !logprobs) return [];
    const chunk = {
      text,
      ...(reasoning && { reasoning_content: reasoning }),
      ...(calls?.length && { tool_calls: calls }),
      ...(logprobs && { logprobs }),
    };
    return [numbered(chunk, index)];
  }

  /** Returns the details after the last event; undefined when the server did not count the tokens. */
  details(): GenerationDetails | undefined {
    if (!this.#usage) return undefined;
    const now = performance.now();
    const untilFirst = (this.#firstMs ?? now) - this.#startedMs;
    const promptMs = this.#promptMs ?? untilFirst;
    // The server does not tell the tokens of each answer.
    const [first = ENDED, ...others] = this.#ends.map((end) => end ?? ENDED);
    return {
      ...first,
      usage: this.#usage,
      timings: {
        queue_ms: Math.max(0, untilFirst - promptMs),
        prompt_ms: promptMs,
        completion_ms: this.#completionMs ?? now - (this.#firstMs ?? now),
      },
      ...(others.length > 0 && { choices: [first, ...others] }),
    };
  }
}

/** Returns the error in an answer; undefined if it has none. */
export function parseServerError(value: unknown): ServerError | undefined {
  const { success, data } = ErrorBody.safeParse(value);
  if (!success) return undefined;
  const error = 'error' in data ? data.error : data;
  if (typeof error === 'string') return { message: error };
  return error.message === '' && error.code == null && error.type == null ? undefined : error;
}

const REASONS = ['length', 'tool_calls', 'content_filter'] as const;

const toReason = (reason: string): GenerationDetails['finish_reason'] =>
  REASONS.find((one) => one === reason) ?? 'stop';

function toDelta({ index, id, function: piece }: z.infer<typeof CallPiece>): ToolCallDelta {
  return {
    index,
    ...(id && { id, type: 'function' as const }),
    function: { ...(piece?.name && { name: piece.name }), arguments: piece?.arguments ?? '' },
  };
}
