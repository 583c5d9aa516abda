// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/llm@0.1.0' {
  /**
   * Answers a dialog of at least one message.
   */
  export function chat(deployment: string, dialog: Array<Message>, options: Options): Message;
  /**
   * Answers a dialog, piece by piece. Dropping the stream cancels it.
   */
  export function chatStream(deployment: string, dialog: Array<Message>, options: Options): TextStream;
  /**
   * Counts the tokens of a dialog in the model's template.
   */
  export function countDialogTokens(deployment: string, dialog: Array<Message>): TokenCount;
  /**
   * Counts the tokens of a text.
   */
  export function countTokens(deployment: string, text: string): TokenCount;
  export type Error = import('aana:host/types@0.1.0').Error;
  /**
   * Who says a message.
   * # Variants
   *
   * ## `"system"`
   *
   * ## `"user"`
   *
   * ## `"assistant"`
   */
  export type Role = 'system' | 'user' | 'assistant';
  export interface Message {
    role: Role,
    content: string,
  }
  /**
   * What is absent is as the deployment has it by default.
   */
  export interface SamplingParams {
    /**
     * 0 is greedy; at most 5.
     */
    temperature?: number,
    /**
     * Above 0, at most 1.
     */
    topP?: number,
    /**
     * -1 is off, else at least 1.
     */
    topK?: number,
    /**
     * 0 to 1.
     */
    minP?: number,
    /**
     * At least 1.
     */
    maxTokens?: number,
    /**
     * Above 0, at most 5; 1 is off.
     */
    repetitionPenalty?: number,
    /**
     * A whole number, 0 to 4,294,967,295. Not a u32, of which some languages' bindings keep 31 bits.
     */
    seed?: number,
    /**
     * Texts that end the answer, at most 16; empty is absent.
     */
    stop: Array<string>,
  }
  export interface Options {
    samplingParams: SamplingParams,
    /**
     * Begins the answer and is part of it.
     */
    assistantPrefix?: string,
  }
  export interface TokenCount {
    tokens: number,
    /**
     * What the model's context holds, answer included.
     */
    maxTokens: number,
  }

  export class TextStream implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * The pieces of text made since the last call, at least one; empty when the answer has ended.
    */
    next(): Array<string>;
    /**
    * Sends all that is left to the client, a value `{"text": …}` a piece, without entering the guest for each.
    */
    forward(): void;
    [Symbol.dispose](): void;
  }
}
