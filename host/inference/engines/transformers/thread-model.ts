import { fail } from '../../../base/core/errors.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import { ComputeThread, RefusedByRuntime } from '../onnx/compute-thread.ts';
import { runFailed } from '../onnx/run-failed.ts';
import type {
  AnswerRules,
  Dialog,
  GenerationQuestion,
  GenerationSpec,
  LoadedModel,
  Rest,
  Step,
  Texts,
  Tokens,
} from './generation-thread.ts';
import { requireReadable } from './readable-texts.ts';

/** A signal without a limit. */
const UNLIMITED = new AbortController().signal;

type GenerationThread = ComputeThread<LoadedModel, GenerationQuestion, object>;

/** A model and its tokenizer in a thread of their own. Signals end the wait for a computation, which goes on. */
export class ThreadModel {
  readonly #name: string;
  readonly #thread: GenerationThread;
  #nextId = 1;

  private constructor(name: string, thread: GenerationThread) {
    this.#name = name;
    this.#thread = thread;
  }

  /** Rejects with `ModelFormatError` for a model that cannot be loaded. */
  static async load(name: string, spec: GenerationSpec, maxMemoryBytes: number): Promise<ThreadModel> {
    const entry = new URL('./generation-thread.js', import.meta.url);
    const model = { name, task: 'text generation', place: { path: spec.folder } };
    return new ThreadModel(name, await ComputeThread.load(entry, spec, { model, maxMemoryBytes }));
  }

  get loaded(): LoadedModel {
    return this.#thread.loaded;
  }

  /** Finished computations. */
  get steps(): number {
    return this.#thread.steps;
  }

  get isBusy(): boolean {
    return this.#thread.isBusy;
  }

  /**
   * Reads all tokens of a text, or at least one more than `most`. Rejects with `InvalidPrompt` for a huge text.
   */
  async tokenize(text: string, hasOuterTokens: boolean, most: number, signal: AbortSignal): Promise<Tokens> {
    requireReadable(text.length, this.#name);
    return this.#ask<Tokens>({ kind: 'tokenize', text, hasOuterTokens, most }, signal);
  }

  /** Like `tokenize`. Rejects with `ChatTemplateException` for a dialog that the model's template does not take. */
  async tokenizeDialog(dialog: Dialog, most: number, signal: AbortSignal): Promise<Tokens> {
    const work = this.#thread.run({ kind: 'tokenize-dialog', dialog, most }, signal) as Promise<Tokens>;
    return work.catch((error: unknown) => {
      if (!(error instanceof RefusedByRuntime)) throw error;
      throw fail('ChatTemplateException', `${this.#name} cannot take this dialog: ${error.message}`, {
        data: { model_name: this.#name },
      });
    });
  }

  detokenize(tokens: readonly number[], signal: AbortSignal): Promise<Texts> {
    return this.#ask<Texts>({ kind: 'detokenize', tokens }, signal);
  }

  /** Begins an answer. It is kept until its `end`. */
  async begin(prompt: readonly number[], rules: AnswerRules, signal: AbortSignal): Promise<ThreadAnswer> {
    const id = this.#nextId++;
    await this.#ask({ kind: 'begin', id, prompt, rules }, signal).catch((error: unknown) => {
      void this.#end(id);
      throw error;
    });
    return {
      next: async () => {
        for (;;) {
          const { token, text = '', isEnd = false, failure } = await this.#ask<Step>({ kind: 'step', id }, signal);
          if (failure !== undefined) throw new InferenceException(this.#name, failure);
          if (token !== undefined) return { text, isEnd };
        }
      },
      end: async () => (await this.#end(id)).text,
    };
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #end(id: number): Promise<Rest> {
    return this.#ask<Rest>({ kind: 'end', id }, UNLIMITED);
  }

  async #ask<Of extends object>(question: GenerationQuestion, signal: AbortSignal): Promise<Of> {
    return (this.#thread.run(question, signal) as Promise<Of>).catch(runFailed(this.#name));
  }
}

/** An answer that the thread generates. */
export interface ThreadAnswer {
  /**
   * Computes the next token, and returns the text that is known with it. The token that ends the answer is no part of
   * it.
   */
  next(): Promise<{ readonly text: string; readonly isEnd: boolean }>;
  /** Forgets the answer, and returns the text that its last tokens left. */
  end(): Promise<string>;
}
