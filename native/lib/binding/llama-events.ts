import type { LlamaPromptToken, LlamaTokenScores } from './llama-sampling.ts';
import type { NativeFault } from './request-terms.ts';

/** The next piece of a call of a tool. The first piece of a call has its name. */
export interface LlamaCallDelta {
  readonly index: number;
  readonly name?: string;
  /** Of the JSON text of the arguments. */
  readonly arguments: string;
}

/** What an engine has done since its load, and what it has at the moment. */
export interface LlamaCounts {
  /** Number of steps of the decode loop. */
  readonly steps: number;
  /** Passes over the weights in these steps. */
  readonly ubatches: number;
  /** Tokens that were computed. */
  readonly computedTokens: number;
  /** Prompt tokens of the requests that began. */
  readonly promptTokens: number;
  /** Those prompt tokens whose keys and values were cached. */
  readonly reusedTokens: number;
  /** Those cached prompt tokens that came from disk. */
  readonly restoredTokens: number;
  /** Those cached prompt tokens that came from kept states. */
  readonly keptTokens: number;
  /** Requests that got their beginning from a kept state, and those for which there was none. */
  readonly keptHits: number;
  readonly keptMisses: number;
  /** Requests that lost their cells while they ran, and were computed again. */
  readonly preemptions: number;
  /** Times that a request made room for one of another tenant, and waited until it could go on. */
  readonly pauses: number;
  /** Times that a full context forgot a part of a request that goes on. */
  readonly shifts: number;
  /** Tokens that were guessed, and those of them that came true. */
  readonly guessedTokens: number;
  readonly acceptedTokens: number;
  /** Tokens that were chosen. */
  readonly generatedTokens: number;
  /** Images and audio of prompts that were encoded, and those whose embeddings an earlier request had left. */
  readonly encodedMedia: number;
  readonly keptMedia: number;
  /** Time of the steps, divided by the tokens of prompts and of answers in each. */
  readonly prefillSeconds: number;
  readonly decodeSeconds: number;
  /** Requests that waited for a place, or for their readers, at the end of the last step. */
  readonly waiting: number;
  /** Requests that had a place then. */
  readonly running: number;
  /** Cells that had keys and values then, also those of requests that ended. */
  readonly usedCells: number;
  /** Cells of the context. 0 before the first step. */
  readonly cells: number;
  /** States of texts without a place, and their bytes. */
  readonly keptStates: number;
  readonly keptBytes: number;
}

export type LlamaFinishReason = 'stop' | 'length' | 'cancelled';

/** One event of a request. `text` is valid UTF-8, because the bytes of an unfinished character are held back. */
export type LlamaEvent =
  | {
      readonly id: number;
      readonly type: 'text';
      /** Empty only where the event has something else. */
      readonly text: string;
      readonly tokens: number;
      /** Reasoning of an answer to a dialog. `text` is then the rest of the answer, or empty. */
      readonly reasoning?: string;
      /** Pieces of calls of tools. `text` may then be empty. */
      readonly calls?: readonly LlamaCallDelta[];
      readonly scores?: readonly LlamaTokenScores[];
      /** The next tokens of the prompt, if `promptLogprobs` asks for them. They come before the completion. */
      readonly promptScores?: readonly LlamaPromptToken[];
    }
  | {
      readonly id: number;
      readonly type: 'end';
      readonly reason: LlamaFinishReason;
      /** The stop text that ended the completion. Absent if none did. */
      readonly stop?: string;
      readonly promptTokens: number;
      /** Prompt tokens whose keys and values were still cached from an earlier request. */
      readonly reusedTokens: number;
      /** Prompt tokens that are images. Absent: none. */
      readonly imageTokens?: number;
      /** Prompt tokens that are audio. Absent: none. */
      readonly audioTokens?: number;
      readonly completionTokens: number;
      /** Tokens of the completion that are reasoning. */
      readonly reasoningTokens: number;
      /** Milliseconds from the arrival of the request until it got a place; the prompt was tokenized meanwhile. */
      readonly queueMs: number;
      /** Milliseconds from then until the first token. */
      readonly promptMs: number;
      /** Milliseconds from the first token to the end. */
      readonly completionMs: number;
      /**
       * Tokens that did not fit into the context, and messages that were left out of the prompt as a whole. Absent:
       * none.
       */
      readonly droppedTokens?: number;
      readonly droppedMessages?: number;
    }
  | {
      readonly id: number;
      readonly type: 'count';
      readonly tokens: number;
      /** The numbers of the tokens, if `tellsTokens` asks for them and there are any. */
      readonly ids?: Int32Array;
      /** The bytes of all tokens, one after the other. Control tokens have the bytes of their text. */
      readonly bytes?: Uint8Array;
      /** For each token, the number of its bytes. */
      readonly lengths?: Int32Array;
    }
  | {
      readonly id: number;
      readonly type: 'error';
      readonly code: LlamaErrorCode;
      readonly fault: NativeFault;
      readonly message: string;
      /** Tokens of the prompt. With `prompt-too-long`, those of its beginning where the rest was not read. */
      readonly promptTokens: number;
      readonly maxTokens: number;
    };

/**
 * `template` means that the template refuses the dialog, `invalid-sampling` that the sampling parameters do not fit the
 * model or leave no token to choose, and `engine-ended` that the engine can serve no more requests.
 */
export type LlamaErrorCode =
  | 'prompt-too-long'
  | 'empty-prompt'
  | 'template'
  | 'invalid-sampling'
  | 'deadline-exceeded'
  | 'slow-reader'
  | 'no-room'
  | 'engine-ended'
  | 'failed';
