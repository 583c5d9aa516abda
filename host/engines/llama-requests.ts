import type { LlamaEvent, LlamaSampling, NativeLlamaEngine } from '../../native/lib/index.ts';
import { AsyncQueue } from '../core/async-queue.ts';
import { AanaError } from '../core/errors.ts';
import { InferenceException } from '../replicas/inference-exception.ts';

/** Sorts the engine's events by request, and gives each request as a stream of text. */
export class LlamaRequests {
  readonly #modelName: string;
  readonly #queues = new Map<number, AsyncQueue<LlamaEvent>>();
  #nextId = 1;

  constructor(modelName: string) {
    this.#modelName = modelName;
  }

  /** The listener for the engine's events. */
  readonly onEvents = (events: readonly LlamaEvent[]): void => {
    for (const event of events) {
      const queue = this.#queues.get(event.id);
      queue?.push(event);
      if (event.type !== 'text') queue?.end();
    }
  };

  /**
   * Runs a prompt. A reader that does not take pieces holds its own sequence up, no other. Leaving the loop or an abort ends the
   * request at the engine's next step. Throws the signal's reason, `PromptTooLongException`, or `InferenceException`.
   */
  async *run(engine: NativeLlamaEngine, prompt: string, sampling: LlamaSampling, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
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
      engine.submit(id, prompt, { ...sampling, parseSpecial: true });
      for await (const event of queue) {
        if (event.type !== 'text') {
          ended = true;
          this.#finish(event);
          return;
        }
        if (event.text !== '') yield event.text;
        engine.acknowledge(id, 1);
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#queues.delete(id);
      if (!ended) engine.cancel(id);
    }
  }

  #finish(event: Exclude<LlamaEvent, { type: 'text' }>): void {
    if (event.type === 'end') {
      if (event.reason === 'cancelled') throw new InferenceException(this.#modelName, 'the engine ended the request');
      return;
    }
    if (event.code === 'prompt-too-long') {
      const { promptTokens, maxTokens } = event;
      throw new AanaError('PromptTooLongException', 'bad-request', `the prompt has ${promptTokens} tokens, ${this.#modelName} takes ${maxTokens} at most`, {
        data: { prompt_len: promptTokens, max_len: maxTokens },
      });
    }
    throw new InferenceException(this.#modelName, event.message);
  }
}
