// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { TokenScore } from './types.ts';
import type { Image } from './media.ts';

/** The author of a message. */
export type Role = 'system' | 'user' | 'assistant';

export interface Message {
  readonly role: Role;
  readonly content: string;
}

/** Absent members have the deployment's defaults. */
export interface SamplingParams {
  /** 0 to 5. 0 is greedy. */
  readonly temperature?: number | undefined;
  /** Above 0, at most 1. */
  readonly topP?: number | undefined;
  /** At least 1, or -1 for off. */
  readonly topK?: number | undefined;
  /** 0 to 1. */
  readonly minP?: number | undefined;
  /** At least 1. */
  readonly maxTokens?: number | undefined;
  /** Above 0, at most 5. 1 is off. */
  readonly repetitionPenalty?: number | undefined;
  /** A whole number, 0 to 4,294,967,295. It is not a u32, because some languages' bindings keep only 31 bits of it. */
  readonly seed?: number | undefined;
  /** Texts that end the answer, at most 16. Empty counts as absent. */
  readonly stop: readonly string[];
}

export interface Options {
  readonly samplingParams: SamplingParams;
  /** The beginning of the answer, which is part of it. */
  readonly assistantPrefix?: string | undefined;
}

export interface TokenCount {
  readonly tokens: number;
  /** The size of the model's context, including the answer. */
  readonly maxTokens: number;
}

/** A running answer. */
export interface TextStream extends Disposable {
  /** Returns the pieces of text since the last call, at least one. Empty when the answer has ended. */
  next(): readonly string[];
  /**
   * Sends all remaining pieces to the client, each as a value `{"text": …}`, without entering the guest for each
   * one.
   */
  forward(): void;
}

/** The author of a turn. `tool` gives the result of a tool that the assistant called. */
export type Author = 'system' | 'user' | 'assistant' | 'tool';

export type ContentPart =
  | { readonly tag: 'text'; readonly val: string }
  /** The place of an image in the list `images` of the call. Turns of every role can have images. */
  | { readonly tag: 'image'; readonly val: number };

/** A call of a tool by the model. */
export interface ToolCall {
  /** The name of the call, which the turn with its result repeats. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  /** The JSON text of an object. */
  readonly arguments: string;
}

export interface Turn {
  readonly author: Author;
  /** May be empty in a turn with calls of tools. */
  readonly content: readonly ContentPart[];
  /** The name of the author or of the tool. */
  readonly name?: string | undefined;
  /** The reasoning of the assistant before its answer. */
  readonly reasoning?: string | undefined;
  /** The calls of tools by the assistant. */
  readonly toolCalls: readonly ToolCall[];
  /** The call that a turn of `tool` answers. */
  readonly toolCallId?: string | undefined;
}

/** A function that the model may call. */
export interface Tool {
  /** 1 to 64 letters, digits, underscores and dashes. */
  readonly name: string;
  /** Tells the model when to call the function. */
  readonly description?: string | undefined;
  /** A JSON Schema of the arguments. Absent: no arguments. */
  readonly parameters?: string | undefined;
  /** Whether a schema is refused that cannot bind the arguments wholly. */
  readonly strict?: boolean | undefined;
}

export type ToolChoice =
  /** The model decides whether it calls tools. */
  | { readonly tag: 'auto' }
  /** The model does not see the tools. */
  | { readonly tag: 'none' }
  /** The model must call one of the tools. */
  | { readonly tag: 'required' }
  /** The model must call the tool of this name. */
  | { readonly tag: 'named'; readonly val: string };

/** The form of an answer. */
export type AnswerForm =
  | { readonly tag: 'text' }
  /** Any JSON object. */
  | { readonly tag: 'json-object' }
  /** JSON that this JSON Schema takes. */
  | { readonly tag: 'json-schema'; readonly val: string }
  /** A text that this regular expression matches as a whole. */
  | { readonly tag: 'regex'; readonly val: string }
  /** One of these texts. */
  | { readonly tag: 'choice'; readonly val: readonly string[] }
  /** A text of this grammar in the notation of llama.cpp (GBNF). */
  | { readonly tag: 'grammar'; readonly val: string };

/** What happens when the context has no room for a dialog or its answer. */
export type Overflow = 'error' | 'shift' | 'truncate-middle';

export type ReasoningFormat = 'auto' | 'none' | 'deepseek';

/** All sampling parameters. Absent members and empty lists have the deployment's defaults. */
export interface Sampling {
  readonly params: SamplingParams;
  /** Above 0, at most 1. 1 is off. */
  readonly typicalP?: number | undefined;
  /** -2 to 2. Subtracted from the logit of each token that the answer has. */
  readonly presencePenalty?: number | undefined;
  /** -2 to 2. Subtracted from the logit of a token for each time that the answer has it. */
  readonly frequencyPenalty?: number | undefined;
  /** Tokens before which an answer does not end by itself. */
  readonly minTokens?: number | undefined;
  /** Whether the model's own end of an answer is never chosen. */
  readonly ignoreEos?: boolean | undefined;
  /** Numbers of tokens that end an answer, at most 1,024. */
  readonly stopTokenIds: ArrayLike<number>;
  /** Added to the logits of tokens, by their numbers, at most 1,024. -100 bans a token, 100 forces it. */
  readonly logitBias: readonly (readonly [number, number])[];
  /** Words whose tokens the answer does not have, at most 1,024. */
  readonly badWords: readonly string[];
  /** Answers to the dialog, 1 to 16. More than one needs a temperature above 0. */
  readonly n?: number | undefined;
  /**
   * Tells the log-probability of each token of the answer, and so many of the likeliest tokens at its place, 0 to
   * 20.
   */
  readonly logprobs?: number | undefined;
  /** The same for the tokens of the prompt. */
  readonly promptLogprobs?: number | undefined;
  /** Whether the answer is the same whatever other requests run. It then takes more time. */
  readonly reproducible?: boolean | undefined;
  /** A JSON object with further parameters of the deployment, such as `{"mirostat":2}`. */
  readonly more?: string | undefined;
}

/** Absent members and empty lists have the deployment's defaults. */
export interface CompletionRequest {
  /** The dialog, at least one turn. */
  readonly turns: readonly Turn[];
  readonly sampling: Sampling;
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  /** Whether an answer may have several calls of tools. */
  readonly parallelToolCalls?: boolean | undefined;
  readonly form?: AnswerForm | undefined;
  /** Whether JSON that `max-tokens` cuts is closed with the shortest valid end. */
  readonly closeJson?: boolean | undefined;
  /** The beginning of the answer, which is part of it. */
  readonly assistantPrefix?: string | undefined;
  /** Name of a LoRA adapter of the deployment. */
  readonly adapter?: string | undefined;
  readonly overflow?: Overflow | undefined;
  readonly reasoningFormat?: ReasoningFormat | undefined;
  /** A JSON object with arguments of the model's chat template. */
  readonly templateArguments?: string | undefined;
  /** A JSON object with further parameters of the deployment's method `chat`. */
  readonly more?: string | undefined;
}

export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter';

export interface Usage {
  readonly promptTokens: number;
  /** Tokens of the prompt that were computed for an earlier request. */
  readonly cachedTokens: number;
  /** Tokens of the answer with its reasoning; of all answers together in `outcome`. */
  readonly completionTokens: number;
  readonly reasoningTokens?: number | undefined;
}

/** Milliseconds in the engine. */
export interface Timings {
  /** Until the prompt was computed. */
  readonly queueMs: number;
  /** From then until the first token. */
  readonly promptMs: number;
  /** From the first token to the end. */
  readonly completionMs: number;
}

/** What the context had no room for, if `overflow` allows to drop it. */
export interface Dropped {
  readonly tokens: number;
  /** Messages that were left out as a whole. */
  readonly messages?: number | undefined;
}

/** How all answers to a dialog were generated. A server that does not say so leaves members out. */
export interface Outcome {
  readonly usage?: Usage | undefined;
  readonly timings?: Timings | undefined;
  readonly dropped?: Dropped | undefined;
  /**
   * A JSON object with `prompt_token_ids` and `prompt_logprobs`, as the deployment's method gives them, if they were
   * requested. Those of a stream are in its pieces.
   */
  readonly promptScores?: string | undefined;
}

/** How one answer ended. */
export interface Ending {
  readonly finishReason?: FinishReason | undefined;
  /** The stop text that ended the answer. */
  readonly stopReason?: string | undefined;
  /** Its own tokens, where they are known. */
  readonly usage?: Usage | undefined;
}

/** A token of an answer, with the likeliest tokens at its place. */
export interface AnswerToken {
  readonly token: TokenScore;
  readonly likeliest: readonly TokenScore[];
}

/** One answer. */
export interface Choice {
  readonly content: string;
  readonly reasoning?: string | undefined;
  readonly toolCalls: readonly ToolCall[];
  /** Empty unless `logprobs` was requested. */
  readonly logprobs: readonly AnswerToken[];
  readonly ending: Ending;
}

export interface Completion {
  /** At least one answer, and `n` if it was requested. */
  readonly choices: readonly Choice[];
  readonly outcome: Outcome;
}

/** The next piece of a call of a tool. The first piece of a call has its id and its name. */
export interface ToolCallPiece {
  /** The place of the call among the calls of the answer. */
  readonly index: number;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  /** The next piece of the JSON text of the arguments. */
  readonly arguments: string;
}

/** The next piece of an answer. Each member may be empty. */
export interface Piece {
  /** The number of the answer, from 0. */
  readonly choice: number;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallPiece[];
  readonly logprobs: readonly AnswerToken[];
  /** The same JSON as in `outcome`, for the next tokens of the prompt. */
  readonly promptScores?: string | undefined;
}

export interface CompletionEnd {
  /** One for each answer. */
  readonly endings: readonly Ending[];
  readonly outcome: Outcome;
}

/** Running answers to a dialog. */
export interface CompletionStream extends Disposable {
  /** Returns the pieces since the last call, at least one. Empty when all answers have ended. */
  next(): readonly Piece[];
  /** Returns how the answers ended. Fails with `conflict` before `next` or `forward` has reached the end. */
  end(): CompletionEnd;
  /**
   * Sends all remaining pieces to the client, each as a value of the deployment's method `chat_stream`, without
   * entering the guest for each one.
   */
  forward(): void;
}

/** The interface `llm` as a guest sees it. A function that fails throws the record `error`. */
export interface Llm {
  /** Answers a dialog of at least one message. */
  chat(deployment: string, dialog: readonly Message[], options: Options): Message;
  /** Answers a dialog, piece by piece. Dropping the stream cancels it. */
  chatStream(deployment: string, dialog: readonly Message[], options: Options): TextStream;
  /** Counts the tokens of a dialog in the model's template. */
  countDialogTokens(deployment: string, dialog: readonly Message[]): TokenCount;
  /** Counts the tokens of a text. */
  countTokens(deployment: string, text: string): TokenCount;
  /** Answers a dialog with all that the deployment can do. */
  complete(deployment: string, request: CompletionRequest, images: readonly Image[]): Completion;
  /** Answers a dialog as `complete` does, piece by piece. Dropping the stream cancels it. */
  completeStream(deployment: string, request: CompletionRequest, images: readonly Image[]): CompletionStream;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface LlmCalls {
  'llm.next': { readonly args: readonly [textStream: number]; readonly value: readonly string[] };
  'llm.forward': { readonly args: readonly [textStream: number]; readonly value: undefined };
  'llm.chat': { readonly args: readonly [deployment: string, dialog: readonly Message[], options: Options];
    readonly value: Message };
  'llm.chat-stream': { readonly args: readonly [deployment: string, dialog: readonly Message[], options: Options];
    readonly value: number };
  'llm.count-dialog-tokens': { readonly args: readonly [deployment: string, dialog: readonly Message[]];
    readonly value: TokenCount };
  'llm.count-tokens': { readonly args: readonly [deployment: string, text: string]; readonly value: TokenCount };
  'llm.next-pieces': { readonly args: readonly [completionStream: number]; readonly value: readonly Piece[] };
  'llm.end': { readonly args: readonly [completionStream: number]; readonly value: CompletionEnd };
  'llm.forward-pieces': { readonly args: readonly [completionStream: number]; readonly value: undefined };
  'llm.complete': { readonly args: readonly [deployment: string, request: CompletionRequest,
    images: readonly number[]]; readonly value: Completion };
  'llm.complete-stream': { readonly args: readonly [deployment: string, request: CompletionRequest,
    images: readonly number[]]; readonly value: number };
}
