import type { LlamaCounts } from './llama-events.ts';
import type { LlamaModelInfo } from './llama-model.ts';
import type { LlamaCountOptions, LlamaPrompt } from './llama-prompts.ts';
import type { LlamaSampling } from './llama-sampling.ts';
import type { RequestTerms } from './request-terms.ts';

/** The LoRA adapter of a request. */
export interface LlamaAdapterUse {
  /** Place in the `adapters` of the load. */
  readonly index: number;
  /** How strongly the adapter changes the model; 1 as it was trained. */
  readonly scale: number;
}

/** What a request may say besides its sampling and its terms. */
export interface LlamaRequestOptions {
  /** Default: the model without an adapter. A step computes the sequences of one adapter; adapters take turns. */
  readonly adapter?: LlamaAdapterUse;
  /**
   * What happens when the context has no room. `error`, the default: a prompt that is too long is refused, and an
   * answer ends when the context is full. `truncate_middle`: the prompt loses its oldest turns, then the middle of its
   * longest texts. `shift`: a full context forgets the older half behind its beginning, and the answer goes on; refused
   * where `canShift` is false.
   */
  readonly overflow?: 'error' | 'truncate_middle' | 'shift';
}

export interface NativeLlamaEngine {
  readonly info: LlamaModelInfo;
  /**
   * Queues a request. Its events go to the listener given to `loadLlama`. The caller chooses `id`. Throws when a
   * request with this id is running, or when an option has the wrong type.
   */
  submit(id: number, prompt: LlamaPrompt, options: LlamaSampling & RequestTerms & LlamaRequestOptions): void;
  /** Ends a request at the next step. An `end` event with reason `cancelled` follows. Unknown ids are ignored. */
  cancel(id: number): void;
  /**
   * Reports how many `text` events of a request were consumed. It lets the engine pause the sequence of a slow reader
   * without pausing others. A sequence that is paused for a second yields its place to a waiting request and continues
   * later. A request whose reader takes nothing for `readerTimeoutMs` fails.
   */
  acknowledge(id: number, events: number): void;
  /** Limits `keptBytes` from now on. What is beyond is given up soon. */
  limitKept(bytes: number): void;
  /** Counts the tokens of a prompt. A `count` or `error` event follows. The caller chooses `id`. */
  countTokens(id: number, prompt: LlamaPrompt, options: RequestTerms & LlamaCountOptions): void;
  /**
   * Why the engine's thread ended unexpectedly. Empty while it works and after `close`. All requests have then failed
   * with `engine-ended`.
   */
  readonly failure: string;
  /** Number of steps of the decode loop. It grows while there is work. */
  readonly steps: number;
  readonly counts: LlamaCounts;
  /** Whether it has requests that it can continue. False if all of their readers are behind. */
  readonly busy: boolean;
  /** Grows continuously while `busy` is true, also inside a step. If it stops growing for long, the engine hangs. */
  readonly beats: number;
  /** Ends all requests and frees the model. May be called twice. */
  close(): Promise<void>;
}
