// Generated from wit/world.wit by `npm run generate`; do not edit.

/** Who says a message. */
export type Role = 'system' | 'user' | 'assistant';

export interface Message {
  readonly role: Role;
  readonly content: string;
}

/** What is absent is as the deployment has it by default. */
export interface SamplingParams {
  /** 0 is greedy; at most 5. */
  readonly temperature?: number | undefined;
  /** Above 0, at most 1. */
  readonly topP?: number | undefined;
  /** -1 is off, else at least 1. */
  readonly topK?: number | undefined;
  /** 0 to 1. */
  readonly minP?: number | undefined;
  /** At least 1. */
  readonly maxTokens?: number | undefined;
  /** Above 0, at most 5; 1 is off. */
  readonly repetitionPenalty?: number | undefined;
  /** A whole number, 0 to 4,294,967,295. Not a u32, of which some languages' bindings keep 31 bits. */
  readonly seed?: number | undefined;
  /** Texts that end the answer, at most 16; empty is absent. */
  readonly stop: readonly string[];
}

export interface Options {
  readonly samplingParams: SamplingParams;
  /** Begins the answer and is part of it. */
  readonly assistantPrefix?: string | undefined;
}

export interface TokenCount {
  readonly tokens: number;
  /** What the model's context holds, answer included. */
  readonly maxTokens: number;
}

/** An answer that is being written. */
export interface TextStream extends Disposable {
  /** The pieces of text made since the last call, at least one; empty when the answer has ended. */
  next(): readonly string[];
  /** Sends all that is left to the client, a value `{"text": …}` a piece, without entering the guest for each. */
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
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface LlmCalls {
  'llm.next': { readonly args: readonly [textStream: number]; readonly value: readonly string[] };
  'llm.forward': { readonly args: readonly [textStream: number]; readonly value: undefined };
  'llm.chat': { readonly args: readonly [deployment: string, dialog: readonly Message[], options: Options]; readonly value: Message };
  'llm.chat-stream': { readonly args: readonly [deployment: string, dialog: readonly Message[], options: Options]; readonly value: number };
  'llm.count-dialog-tokens': { readonly args: readonly [deployment: string, dialog: readonly Message[]]; readonly value: TokenCount };
  'llm.count-tokens': { readonly args: readonly [deployment: string, text: string]; readonly value: TokenCount };
}
