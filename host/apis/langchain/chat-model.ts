import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import type {
  BaseLanguageModelInput,
  StructuredOutputMethodOptions,
  ToolDefinition,
} from '@langchain/core/language_models/base';
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BaseChatModelParams,
  type BindToolsInput,
  type LangSmithParams,
} from '@langchain/core/language_models/chat_models';
import {
  assembleStructuredOutputPipeline,
  createContentParser,
  createFunctionCallingParser,
} from '@langchain/core/language_models/structured_output';
import {
  AIMessage,
  AIMessageChunk,
  type AIMessageFields,
  type BaseMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { makeInvalidToolCall, parseToolCall } from '@langchain/core/output_parsers/openai_tools';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import type { Runnable } from '@langchain/core/runnables';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { isSerializableSchema } from '@langchain/core/utils/standard_schema';
import { isInteropZodSchema } from '@langchain/core/utils/types';
import { flattened } from '../../base/core/async/async-values.ts';
import { fail } from '../../base/core/errors.ts';
import type {
  ChatOutputWithDetails,
  GenerationDetails,
  SamplingParams,
  TextChunk,
  ToolCall,
} from '../../base/schemas/index.ts';
import type { DeploymentHandle } from '../../inference/deployments/index.ts';
import { dialogOf } from './messages.ts';

/** What LangChain does around calls has no effect: the handle repeats them, and deployments limit those at a time. */
type NoEffect = 'maxConcurrency' | 'maxRetries' | 'onFailedAttempt';

export interface ChatAanaFields extends Omit<BaseChatModelParams, NoEffect> {
  /** A deployment of a text model: `app.handle('llm_deployment')`. */
  readonly handle: DeploymentHandle;
  /** What the deployment's methods call `sampling_params`, such as `{ temperature: 0, max_tokens: 200 }`. */
  readonly samplingParams?: SamplingParams | undefined;
  /** Arguments of the model's chat template, such as `{ enable_thinking: false }`. */
  readonly chatTemplateKwargs?: Readonly<Record<string, unknown>> | undefined;
}

export interface ChatAanaCallOptions extends BaseChatModelCallOptions {
  /** Added to the parameters of the model, and stronger. */
  readonly samplingParams?: SamplingParams | undefined;
  /** In OpenAI's form. `bindTools` makes it of LangChain's tools. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly parallel_tool_calls?: boolean | undefined;
  /** In OpenAI's form. `withStructuredOutput` makes it of a schema. */
  readonly response_format?: Readonly<Record<string, unknown>> | undefined;
}

/** What `withStructuredOutput` accepts as a schema: of zod, of another library with JSON Schemas, or a JSON Schema. */
type OutputSchema = Parameters<typeof createContentParser>[0];

/**
 * A text model as a chat model of LangChain. Calls have the deployment's errors, among them `ValidationError` for
 * arguments that it refuses. A stream is produced as fast as it is read.
 */
export class ChatAana extends BaseChatModel<ChatAanaCallOptions> {
  readonly #handle: DeploymentHandle;
  readonly #sampling: SamplingParams;
  readonly #template: Readonly<Record<string, unknown>> | undefined;

  constructor({ handle, samplingParams = {}, chatTemplateKwargs, ...fields }: ChatAanaFields) {
    super(fields);
    this.#handle = handle;
    this.#sampling = samplingParams;
    this.#template = chatTemplateKwargs;
  }

  static override lc_name(): string {
    return 'ChatAana';
  }

  override _llmType(): string {
    return 'aana-host';
  }

  /** What answers depend on besides the options of a call. LangChain's caches keep those of equal models together. */
  override _identifyingParams(): Record<string, unknown> {
    return { deployment: this.#handle.name, sampling_params: this.#sampling, chat_template_kwargs: this.#template };
  }

  override getLsParams(options: this['ParsedCallOptions']): LangSmithParams {
    const { temperature, max_tokens: most, stop } = this.#samplingOf(options);
    return {
      ls_provider: 'aana-host',
      ls_model_name: this.#handle.name,
      ls_model_type: 'chat',
      ...(temperature != null && { ls_temperature: temperature }),
      ...(most != null && { ls_max_tokens: most }),
      ...(stop != null && { ls_stop: stop }),
    };
  }

  override invocationParams(options: this['ParsedCallOptions']): Record<string, unknown> {
    const { tools, tool_choice: choice, parallel_tool_calls: parallel, response_format: format } = options;
    return {
      sampling_params: this.#samplingOf(options),
      ...(tools && { tools }),
      ...(choice !== undefined && { tool_choice: choiceOf(choice) }),
      ...(parallel !== undefined && { parallel_tool_calls: parallel }),
      ...(format && { response_format: format }),
      ...(this.#template && { chat_template_kwargs: this.#template }),
    };
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    const args = { dialog: dialogOf(messages), ...this.invocationParams(options), details: true };
    const { signal } = options;
    const { message, details } = (await this.#handle.call('chat', args, { signal })) as ChatOutputWithDetails;
    const { content, tool_calls: calls = [], reasoning_content: reasoning } = message;
    const facts = factsOf(this.#handle.name, details);
    const answer = new AIMessage({ content, ...callsOf(calls), ...facts });
    if (reasoning !== undefined) answer.additional_kwargs['reasoning_content'] = reasoning;
    return { generations: [{ text: content, message: answer }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const args = { dialog: dialogOf(messages), ...this.invocationParams(options) };
    const { signal } = options;
    const chunks = flattened(this.#handle.stream('chat_stream', args, { signal })) as Chunks;
    const details = yield* piecesOf(chunks, run);
    yield new ChatGenerationChunk({
      text: '',
      message: new AIMessageChunk({ content: '', ...factsOf(this.#handle.name, details) }),
    });
  }

  override bindTools(
    tools: BindToolsInput[],
    options: Partial<ChatAanaCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, ChatAanaCallOptions> {
    return this.withConfig({ ...options, tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  /**
   * Answers in the form of a schema. The method `jsonSchema`, the default, binds every token of the answer to it;
   * `functionCalling` asks for the call of a tool, and `jsonMode` for any JSON object.
   */
  override withStructuredOutput(
    schema: OutputSchema,
    { method = 'jsonSchema', name = 'answer', strict, includeRaw = false }: StructuredOutputMethodOptions<boolean> = {},
    // oxlint-disable-next-line typescript/no-explicit-any -- the base class has an overload for each form of a schema
  ): Runnable<BaseLanguageModelInput, any> {
    const isObject = isInteropZodSchema(schema) || isSerializableSchema(schema);
    const json = isObject ? toJsonSchema(schema) : schema;
    if (method === 'functionCalling') {
      const tools = [{ type: 'function', function: { name, parameters: json } }] as const;
      const calling = this.withConfig({ tools, tool_choice: name });
      const parser = createFunctionCallingParser(schema, name);
      return assembleStructuredOutputPipeline(calling, parser, includeRaw, 'StructuredOutput');
    }
    const named = { name, schema: json, ...(strict !== undefined && { strict }) };
    const format = method === 'jsonMode' ? { type: 'json_object' } : { type: 'json_schema', json_schema: named };
    const formed = this.withConfig({ response_format: format });
    return assembleStructuredOutputPipeline(formed, createContentParser(schema), includeRaw, 'StructuredOutput');
  }

  #samplingOf({ stop, samplingParams }: this['ParsedCallOptions']): SamplingParams {
    const sampling = { ...this.#sampling, ...samplingParams, ...(stop && { stop }) };
    if ((sampling.n ?? 1) > 1) throw fail('ValidationError', 'n: LangChain asks for several answers with batch()');
    return sampling;
  }
}

type Chunks = AsyncGenerator<TextChunk, GenerationDetails | undefined>;

/** Yields the pieces of a stream, and returns how it ended. */
async function* piecesOf(
  chunks: Chunks,
  run: CallbackManagerForLLMRun | undefined,
): AsyncGenerator<ChatGenerationChunk, GenerationDetails | undefined> {
  try {
    for (let next = await chunks.next(); ; next = await chunks.next()) {
      if (next.done) return next.value;
      const { text, reasoning_content: reasoning, tool_calls: calls = [] } = next.value;
      if (text === '' && reasoning === undefined && calls.length === 0) continue;
      const message = new AIMessageChunk({
        content: text,
        tool_call_chunks: calls.map(({ index, id, function: { name, arguments: args } }) => ({
          type: 'tool_call_chunk',
          index,
          args,
          ...(id !== undefined && { id }),
          ...(name !== undefined && { name }),
        })),
        ...(reasoning !== undefined && { additional_kwargs: { reasoning_content: reasoning } }),
      });
      const piece = new ChatGenerationChunk({ text, message });
      yield piece;
      await run?.handleLLMNewToken(text, { prompt: 0, completion: 0 }, undefined, undefined, undefined, {
        chunk: piece,
      });
    }
  } finally {
    await chunks.return(undefined); // a reader who leaves cancels the call
  }
}

/** Returns the calls of tools. Those whose arguments are no JSON, because the answer was cut, are the invalid ones. */
function callsOf(calls: readonly ToolCall[]): Required<Pick<AIMessage, 'tool_calls' | 'invalid_tool_calls'>> {
  const parsed: Required<Pick<AIMessage, 'tool_calls' | 'invalid_tool_calls'>> = {
    tool_calls: [],
    invalid_tool_calls: [],
  };
  for (const call of calls)
    try {
      parsed.tool_calls.push(parseToolCall(call, { returnId: true }));
    } catch (error) {
      parsed.invalid_tool_calls.push(makeInvalidToolCall(call, (error as Error).message));
    }
  return parsed;
}

type Facts = Pick<AIMessageFields, 'response_metadata' | 'usage_metadata'>;

/** Returns what is known about an answer besides its content. */
function factsOf(model: string, details: GenerationDetails | undefined): Facts {
  const metadata: Facts['response_metadata'] = {
    model_provider: 'aana-host',
    model_name: model,
    ...(details && { finish_reason: details.finish_reason }),
    ...(details?.logprobs && { logprobs: { content: details.logprobs } }),
  };
  return { response_metadata: metadata, ...(details && { usage_metadata: usageOf(details.usage) }) } as Facts;
}

const usageOf = (usage: GenerationDetails['usage']): UsageMetadata => ({
  input_tokens: usage.prompt_tokens,
  output_tokens: usage.completion_tokens,
  total_tokens: usage.prompt_tokens + usage.completion_tokens,
  input_token_details: {
    cache_read: usage.cached_tokens,
    ...(usage.image_tokens !== undefined && { image: usage.image_tokens }),
    ...(usage.audio_tokens !== undefined && { audio: usage.audio_tokens }),
  },
  output_token_details: { ...(usage.reasoning_tokens !== undefined && { reasoning: usage.reasoning_tokens }) },
});

/** Returns OpenAI's form of LangChain's choice of tools. */
function choiceOf(choice: NonNullable<BaseChatModelCallOptions['tool_choice']>): unknown {
  if (typeof choice !== 'string') return choice;
  if (choice === 'any') return 'required';
  return ['auto', 'none', 'required'].includes(choice) ? choice : { type: 'function', function: { name: choice } };
}
