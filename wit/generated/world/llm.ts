// Generated from wit/world.wit by `npm run generate`; do not edit.

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
  /** Sends all remaining pieces to the client, each as a value `{"text": …}`, without entering the guest for each one. */
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
