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
   * The author of a message.
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
   * Absent members have the deployment's defaults.
   */
  export interface SamplingParams {
    /**
     * 0 to 5. 0 is greedy.
     */
    temperature?: number,
    /**
     * Above 0, at most 1.
     */
    topP?: number,
    /**
     * At least 1, or -1 for off.
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
     * Above 0, at most 5. 1 is off.
     */
    repetitionPenalty?: number,
    /**
     * A whole number, 0 to 4,294,967,295. It is not a u32, because some languages' bindings keep only 31 bits of it.
     */
    seed?: number,
    /**
     * Texts that end the answer, at most 16. Empty counts as absent.
     */
    stop: Array<string>,
  }
  export interface Options {
    samplingParams: SamplingParams,
    /**
     * The beginning of the answer, which is part of it.
     */
    assistantPrefix?: string,
  }
  export interface TokenCount {
    tokens: number,
    /**
     * The size of the model's context, including the answer.
     */
    maxTokens: number,
  }

  export class TextStream implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Returns the pieces of text since the last call, at least one. Empty when the answer has ended.
    */
    next(): Array<string>;
    /**
    * Sends all remaining pieces to the client, each as a value `{"text": …}`, without entering the guest for each one.
    */
    forward(): void;
    [Symbol.dispose](): void;
  }
}
