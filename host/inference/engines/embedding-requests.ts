import type {
  LlamaEmbeddingEvent,
  LlamaEmbeddingInput,
  LlamaEmbeddingRequestOptions,
  NativeLlamaEmbeddingEngine,
} from '../../../native/lib/index.ts';
import { raceAbort } from '../../base/core/abort.ts';
import { InferenceException } from '../replicas/process/inference-exception.ts';
import type { CallContext } from '../rpc/index.ts';
import { llamaFailure } from './llama-failures.ts';
import { WaitTimes } from './metrics/wait-times.ts';
import { termsOf } from './request-terms.ts';

export type Vectors = Extract<LlamaEmbeddingEvent, { type: 'vectors' }>;

/** Distributes the events of an engine for embeddings to its requests. */
export class EmbeddingRequests {
  readonly #modelName: string;
  readonly #onEnded: (reason: string) => void;
  readonly waits = new WaitTimes();
  readonly #settle = new Map<number, (event: LlamaEmbeddingEvent) => void>();
  #nextId = 1;

  /**
   * `onEnded` is called when the engine can serve no more requests. Its open requests are not answered; they fail when
   * the process exits.
   */
  constructor(modelName: string, onEnded: (reason: string) => void) {
    this.#modelName = modelName;
    this.#onEnded = onEnded;
  }

  /** The listener for the engine's events. */
  readonly onEvent = (event: LlamaEmbeddingEvent): void => {
    if (event.type === 'error' && event.code === 'engine-ended') return this.#onEnded(event.message);
    this.#settle.get(event.id)?.(event);
  };

  /**
   * Returns the vectors of the texts, or with `countTokens` only the number of their tokens. An abort ends the request,
   * which then computes nothing more.
   *
   * Throws the signal's reason, `InferenceException` when the engine failed, or an error that names the fault of the
   * request: `PromptTooLongException`, `EmptyPrompt`, `InvalidPrompt`, `DeadlineExceeded`.
   */
  async run(
    engine: NativeLlamaEmbeddingEngine,
    method: 'submit' | 'countTokens',
    input: LlamaEmbeddingInput,
    { truncate }: { readonly truncate?: LlamaEmbeddingRequestOptions['truncate'] | undefined },
    context: CallContext,
  ): Promise<Vectors> {
    const { signal } = context;
    signal.throwIfAborted();
    const id = this.#nextId++;
    const ended = new Promise<LlamaEmbeddingEvent>((resolve) => this.#settle.set(id, resolve));
    try {
      engine[method](id, input, { ...(truncate && { truncate }), ...termsOf(context) });
      const event = await raceAbort(ended, signal);
      if (event.type === 'vectors') {
        if (method === 'submit') this.waits.add(context.userId, event.queueMs);
        return event;
      }
      if (event.type === 'error') throw llamaFailure(this.#modelName, event, 'text');
      throw new InferenceException(this.#modelName, 'the engine ended the request');
    } finally {
      this.#settle.delete(id);
      if (signal.aborted) engine.cancel(id);
    }
  }
}
