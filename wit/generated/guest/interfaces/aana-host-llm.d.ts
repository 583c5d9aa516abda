// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-media.d.ts" />
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
  /**
   * Answers a dialog with all that the deployment can do.
   */
  export function complete(deployment: string, request: CompletionRequest, images: Array<Image>): Completion;
  /**
   * Answers a dialog as `complete` does, piece by piece. Dropping the stream cancels it.
   */
  export function completeStream(deployment: string, request: CompletionRequest,
    images: Array<Image>): CompletionStream;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type TokenScore = import('aana:host/types@0.1.0').TokenScore;
  export type Image = import('aana:host/media@0.1.0').Image;
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
  /**
   * The author of a turn. `tool` gives the result of a tool that the assistant called.
   * # Variants
   *
   * ## `"system"`
   *
   * ## `"user"`
   *
   * ## `"assistant"`
   *
   * ## `"tool"`
   */
  export type Author = 'system' | 'user' | 'assistant' | 'tool';
  export type ContentPart = ContentPartText | ContentPartImage;
  export interface ContentPartText {
    tag: 'text',
    val: string,
  }
  /**
   * The place of an image in the list `images` of the call. Turns of every role can have images.
   */
  export interface ContentPartImage {
    tag: 'image',
    val: number,
  }
  /**
   * A call of a tool by the model.
   */
  export interface ToolCall {
    /**
     * The name of the call, which the turn with its result repeats.
     */
    id: string,
    /**
     * The name of the tool.
     */
    name: string,
    /**
     * The JSON text of an object.
     */
    arguments: string,
  }
  export interface Turn {
    author: Author,
    /**
     * May be empty in a turn with calls of tools.
     */
    content: Array<ContentPart>,
    /**
     * The name of the author or of the tool.
     */
    name?: string,
    /**
     * The reasoning of the assistant before its answer.
     */
    reasoning?: string,
    /**
     * The calls of tools by the assistant.
     */
    toolCalls: Array<ToolCall>,
    /**
     * The call that a turn of `tool` answers.
     */
    toolCallId?: string,
  }
  /**
   * A function that the model may call.
   */
  export interface Tool {
    /**
     * 1 to 64 letters, digits, underscores and dashes.
     */
    name: string,
    /**
     * Tells the model when to call the function.
     */
    description?: string,
    /**
     * A JSON Schema of the arguments. Absent: no arguments.
     */
    parameters?: string,
    /**
     * Whether a schema is refused that cannot bind the arguments wholly.
     */
    strict?: boolean,
  }
  export type ToolChoice = ToolChoiceAuto | ToolChoiceNone | ToolChoiceRequired | ToolChoiceNamed;
  /**
   * The model decides whether it calls tools.
   */
  export interface ToolChoiceAuto {
    tag: 'auto',
  }
  /**
   * The model does not see the tools.
   */
  export interface ToolChoiceNone {
    tag: 'none',
  }
  /**
   * The model must call one of the tools.
   */
  export interface ToolChoiceRequired {
    tag: 'required',
  }
  /**
   * The model must call the tool of this name.
   */
  export interface ToolChoiceNamed {
    tag: 'named',
    val: string,
  }
  /**
   * The form of an answer.
   */
  export type AnswerForm = AnswerFormText | AnswerFormJsonObject | AnswerFormJsonSchema | AnswerFormRegex
    | AnswerFormChoice | AnswerFormGrammar;
  export interface AnswerFormText {
    tag: 'text',
  }
  /**
   * Any JSON object.
   */
  export interface AnswerFormJsonObject {
    tag: 'json-object',
  }
  /**
   * JSON that this JSON Schema takes.
   */
  export interface AnswerFormJsonSchema {
    tag: 'json-schema',
    val: string,
  }
  /**
   * A text that this regular expression matches as a whole.
   */
  export interface AnswerFormRegex {
    tag: 'regex',
    val: string,
  }
  /**
   * One of these texts.
   */
  export interface AnswerFormChoice {
    tag: 'choice',
    val: Array<string>,
  }
  /**
   * A text of this grammar in the notation of llama.cpp (GBNF).
   */
  export interface AnswerFormGrammar {
    tag: 'grammar',
    val: string,
  }
  /**
   * What happens when the context has no room for a dialog or its answer.
   * # Variants
   *
   * ## `"error"`
   *
   * A dialog that is too long is refused, and an answer ends when the context is full.
   * ## `"shift"`
   *
   * When the context is full, the older half behind the system messages is forgotten, and the answer goes on.
   * ## `"truncate-middle"`
   *
   * A dialog that is too long loses its oldest turns, then the middle of its longest texts.
   */
  export type Overflow = 'error' | 'shift' | 'truncate-middle';
  /**
   * # Variants
   *
   * ## `"auto"`
   *
   * ## `"none"`
   *
   * Reasoning stays in the text.
   * ## `"deepseek"`
   */
  export type ReasoningFormat = 'auto' | 'none' | 'deepseek';
  /**
   * All sampling parameters. Absent members and empty lists have the deployment's defaults.
   */
  export interface Sampling {
    params: SamplingParams,
    /**
     * Above 0, at most 1. 1 is off.
     */
    typicalP?: number,
    /**
     * -2 to 2. Subtracted from the logit of each token that the answer has.
     */
    presencePenalty?: number,
    /**
     * -2 to 2. Subtracted from the logit of a token for each time that the answer has it.
     */
    frequencyPenalty?: number,
    /**
     * Tokens before which an answer does not end by itself.
     */
    minTokens?: number,
    /**
     * Whether the model's own end of an answer is never chosen.
     */
    ignoreEos?: boolean,
    /**
     * Numbers of tokens that end an answer, at most 1,024.
     */
    stopTokenIds: Uint32Array,
    /**
     * Added to the logits of tokens, by their numbers, at most 1,024. -100 bans a token, 100 forces it.
     */
    logitBias: Array<[number, number]>,
    /**
     * Words whose tokens the answer does not have, at most 1,024.
     */
    badWords: Array<string>,
    /**
     * Answers to the dialog, 1 to 16. More than one needs a temperature above 0.
     */
    n?: number,
    /**
     * Tells the log-probability of each token of the answer, and so many of the likeliest tokens at its place, 0 to
     * 20.
     */
    logprobs?: number,
    /**
     * The same for the tokens of the prompt.
     */
    promptLogprobs?: number,
    /**
     * Whether the answer is the same whatever other requests run. It then takes more time.
     */
    reproducible?: boolean,
    /**
     * A JSON object with further parameters of the deployment, such as `{"mirostat":2}`.
     */
    more?: string,
  }
  /**
   * Absent members and empty lists have the deployment's defaults.
   */
  export interface CompletionRequest {
    /**
     * The dialog, at least one turn.
     */
    turns: Array<Turn>,
    sampling: Sampling,
    tools: Array<Tool>,
    toolChoice?: ToolChoice,
    /**
     * Whether an answer may have several calls of tools.
     */
    parallelToolCalls?: boolean,
    form?: AnswerForm,
    /**
     * Whether JSON that `max-tokens` cuts is closed with the shortest valid end.
     */
    closeJson?: boolean,
    /**
     * The beginning of the answer, which is part of it.
     */
    assistantPrefix?: string,
    /**
     * Name of a LoRA adapter of the deployment.
     */
    adapter?: string,
    overflow?: Overflow,
    reasoningFormat?: ReasoningFormat,
    /**
     * A JSON object with arguments of the model's chat template.
     */
    templateArguments?: string,
    /**
     * A JSON object with further parameters of the deployment's method `chat`.
     */
    more?: string,
  }
  /**
   * # Variants
   *
   * ## `"stop"`
   *
   * The model ended, or a stop text came.
   * ## `"length"`
   *
   * `max-tokens` or the context is full.
   * ## `"tool-calls"`
   *
   * ## `"content-filter"`
   *
   * A server withheld the rest.
   */
  export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter';
  export interface Usage {
    promptTokens: number,
    /**
     * Tokens of the prompt that were computed for an earlier request.
     */
    cachedTokens: number,
    /**
     * Tokens of the answer with its reasoning; of all answers together in `outcome`.
     */
    completionTokens: number,
    reasoningTokens?: number,
  }
  /**
   * Milliseconds in the engine.
   */
  export interface Timings {
    /**
     * Until the prompt was computed.
     */
    queueMs: number,
    /**
     * From then until the first token.
     */
    promptMs: number,
    /**
     * From the first token to the end.
     */
    completionMs: number,
  }
  /**
   * What the context had no room for, if `overflow` allows to drop it.
   */
  export interface Dropped {
    tokens: number,
    /**
     * Messages that were left out as a whole.
     */
    messages?: number,
  }
  /**
   * How all answers to a dialog were generated. A server that does not say so leaves members out.
   */
  export interface Outcome {
    usage?: Usage,
    timings?: Timings,
    dropped?: Dropped,
    /**
     * A JSON object with `prompt_token_ids` and `prompt_logprobs`, as the deployment's method gives them, if they were
     * requested. Those of a stream are in its pieces.
     */
    promptScores?: string,
  }
  /**
   * How one answer ended.
   */
  export interface Ending {
    finishReason?: FinishReason,
    /**
     * The stop text that ended the answer.
     */
    stopReason?: string,
    /**
     * Its own tokens, where they are known.
     */
    usage?: Usage,
  }
  /**
   * A token of an answer, with the likeliest tokens at its place.
   */
  export interface AnswerToken {
    token: TokenScore,
    likeliest: Array<TokenScore>,
  }
  /**
   * One answer.
   */
  export interface Choice {
    content: string,
    reasoning?: string,
    toolCalls: Array<ToolCall>,
    /**
     * Empty unless `logprobs` was requested.
     */
    logprobs: Array<AnswerToken>,
    ending: Ending,
  }
  export interface Completion {
    /**
     * At least one answer, and `n` if it was requested.
     */
    choices: Array<Choice>,
    outcome: Outcome,
  }
  /**
   * The next piece of a call of a tool. The first piece of a call has its id and its name.
   */
  export interface ToolCallPiece {
    /**
     * The place of the call among the calls of the answer.
     */
    index: number,
    id?: string,
    name?: string,
    /**
     * The next piece of the JSON text of the arguments.
     */
    arguments: string,
  }
  /**
   * The next piece of an answer. Each member may be empty.
   */
  export interface Piece {
    /**
     * The number of the answer, from 0.
     */
    choice: number,
    text: string,
    reasoning: string,
    toolCalls: Array<ToolCallPiece>,
    logprobs: Array<AnswerToken>,
    /**
     * The same JSON as in `outcome`, for the next tokens of the prompt.
     */
    promptScores?: string,
  }
  export interface CompletionEnd {
    /**
     * One for each answer.
     */
    endings: Array<Ending>,
    outcome: Outcome,
  }

  export class CompletionStream implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Returns the pieces since the last call, at least one. Empty when all answers have ended.
    */
    next(): Array<Piece>;
    /**
    * Returns how the answers ended. Fails with `conflict` before `next` or `forward` has reached the end.
    */
    end(): CompletionEnd;
    /**
    * Sends all remaining pieces to the client, each as a value of the deployment's method `chat_stream`, without
    * entering the guest for each one.
    */
    forward(): void;
    [Symbol.dispose](): void;
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
    * Sends all remaining pieces to the client, each as a value `{"text": …}`, without entering the guest for each
    * one.
    */
    forward(): void;
    [Symbol.dispose](): void;
  }
}
