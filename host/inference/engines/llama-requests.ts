import type {
  LlamaCountOptions,
  LlamaEvent,
  LlamaPrompt,
  LlamaRequestOptions,
  LlamaSampling,
  NativeLlamaEngine,
  RequestTerms,
} from '../../../native/lib/index.ts';
import { AsyncQueue } from '../../base/core/async/async-queue.ts';
import { tenantOf } from '../../base/core/request-context.ts';
import type { CallContext } from '../rpc/index.ts';
import type { GenerationDetails, TextChunk } from '../../base/schemas/index.ts';
import { InferenceException } from '../replicas/process/inference-exception.ts';
import { logprobOf, promptLogprobsOf } from './logprobs.ts';
import { llamaFailure } from './llama-failures.ts';
import { WaitTimes } from './metrics/wait-times.ts';
import { termsOf } from './request-terms.ts';
import { toDelta } from './chat/tool-call-ids.ts';

/** The tokens of a prompt. */
export type LlamaCount = Omit<Extract<LlamaEvent, { type: 'count' }>, 'id' | 'type'>;

/** Who uses what was computed for a prompt: all callers, or only the one who sent it. */
export type CacheScope = 'shared' | 'tenant';

/** Distributes the engine's events to its requests, and gives the text of each request as a stream. */
export class LlamaRequests {
  readonly #modelName: string;
  readonly #onEnded: (reason: string) => void;
  readonly #scope: CacheScope;
  readonly waits = new WaitTimes();
  readonly #queues = new Map<number, AsyncQueue<LlamaEvent>>();
  #nextId = 1;

  /**
   * `onEnded` is called when the engine can serve no more requests. Its open requests are not answered; they fail when
   * the process exits.
   */
  constructor(modelName: string, onEnded: (reason: string) => void, scope: CacheScope = 'tenant') {
    this.#modelName = modelName;
    this.#onEnded = onEnded;
    this.#scope = scope;
  }

  /** Requests with the same key use what was computed for each other. */
  cacheKeyOf(context: CallContext): string {
    return this.#scope === 'shared' ? '' : tenantOf(context);
  }

  #termsOf(context: CallContext): RequestTerms {
    return { ...termsOf(context), cacheKey: this.cacheKeyOf(context) };
  }

  /** The listener for the engine's events. */
  readonly onEvent = (event: LlamaEvent): void => {
    if (event.type === 'error' && event.code === 'engine-ended') return this.#onEnded(event.message);
    const queue = this.#queues.get(event.id);
    queue?.push(event);
    if (event.type !== 'text') queue?.end();
  };

  /**
   * Runs a prompt. A slow reader pauses its own sequence and no other. The request ends at the engine's next step when
   * the reader leaves the loop or the signal aborts. The generator returns the details of the text.
   *
   * Throws the signal's reason, `InferenceException` when the engine failed, or an error that names the fault of the
   * request: `PromptTooLongException`, `EmptyPrompt`, `ChatTemplateException`, `InvalidPrompt`,
   * `InvalidSamplingParams`, `SlowReader`, `DeadlineExceeded`, `EngineFull`.
   */
  async *run(
    engine: NativeLlamaEngine,
    prompt: LlamaPrompt,
    sampling: LlamaSampling & LlamaRequestOptions,
    context: CallContext,
  ): AsyncGenerator<TextChunk, GenerationDetails, undefined> {
    const submit = (id: number): void => engine.submit(id, prompt, { ...sampling, ...this.#termsOf(context) });
    for await (const event of this.#eventsOf(engine, context.signal, submit)) {
      if (event.type === 'end') this.waits.add(context.userId, event.queueMs);
      if (event.type !== 'text') return this.#detailsOf(event);
      const chunk = chunkOf(event);
      if (chunk) yield chunk;
      engine.acknowledge(event.id, 1);
    }
    throw new InferenceException(this.#modelName, 'the engine did not end the request');
  }

  /** Returns how many tokens the prompt has, and with `tellsTokens` the tokens. Throws like {@link run}. */
  async count(
    engine: NativeLlamaEngine,
    prompt: LlamaPrompt,
    context: CallContext,
    options: LlamaCountOptions = {},
  ): Promise<LlamaCount> {
    const submit = (id: number): void => engine.countTokens(id, prompt, { ...this.#termsOf(context), ...options });
    for await (const event of this.#eventsOf(engine, context.signal, submit)) {
      if (event.type === 'count') return event;
      if (event.type !== 'text') this.#detailsOf(event);
    }
    throw new InferenceException(this.#modelName, 'the engine did not count the tokens');
  }

  /** Yields the events of a request up to the last. Leaving the loop, or an abort, cancels the request. */
  async *#eventsOf(
    engine: NativeLlamaEngine,
    signal: AbortSignal,
    submit: (id: number) => void,
  ): AsyncGenerator<LlamaEvent, void, undefined> {
    signal.throwIfAborted();
    const id = this.#nextId++;
    const queue = new AsyncQueue<LlamaEvent>();
    const onAbort = (): void => {
      engine.cancel(id);
      queue.fail(signal.reason);
    };
    this.#queues.set(id, queue);
    signal.addEventListener('abort', onAbort, { once: true });
    let ended = false;
    try {
      submit(id);
      for await (const event of queue) {
        ended = event.type !== 'text';
        yield event;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#queues.delete(id);
      if (!ended) engine.cancel(id);
    }
  }

  /** Returns the details of a request that has ended well. Throws when it has not. */
  #detailsOf(event: Exclude<LlamaEvent, { type: 'text' }>): GenerationDetails {
    if (event.type === 'error') throw llamaFailure(this.#modelName, event);
    if (event.type === 'count' || event.reason === 'cancelled')
      throw new InferenceException(this.#modelName, 'the engine ended the request');
    return {
      finish_reason: event.reason,
      ...(event.stop !== undefined && { stop_reason: event.stop }),
      usage: {
        prompt_tokens: event.promptTokens,
        cached_tokens: event.reusedTokens,
        ...(event.imageTokens !== undefined && { image_tokens: event.imageTokens }),
        ...(event.audioTokens !== undefined && { audio_tokens: event.audioTokens }),
        completion_tokens: event.completionTokens,
        ...(event.reasoningTokens > 0 && { reasoning_tokens: event.reasoningTokens }),
      },
      ...(event.droppedTokens !== undefined && {
        dropped: {
          tokens: event.droppedTokens,
          ...(event.droppedMessages !== undefined && { messages: event.droppedMessages }),
        },
      }),
      timings: { queue_ms: event.queueMs, prompt_ms: event.promptMs, completion_ms: event.completionMs },
    };
  }
}

/** Returns the chunk of an event; undefined when the event has nothing for the reader. */
function chunkOf(event: Extract<LlamaEvent, { type: 'text' }>): TextChunk | undefined {
  const { text, reasoning, calls, scores, promptScores } = event;
  if (text === '' && !reasoning && !calls && !scores && !promptScores) return undefined;
  return {
    text,
    ...(reasoning && { reasoning_content: reasoning }),
    ...(calls && { tool_calls: calls.map(toDelta) }),
    ...(scores && { logprobs: scores.map(logprobOf) }),
    ...(promptScores && promptLogprobsOf(promptScores)),
  };
}
