// Runs in a replica: text generation by another server with OpenAI's API.
import { delay } from '../../../base/core/abort.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import { networkOf, type NetworkSettings } from '../../../io/outgoing/index.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import { withinLimit } from '../sampling.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { GenerationDetails, ResponseFormat, SamplingParams, TextChunk } from '../../../base/schemas/index.ts';
import { activeTools, type ChatOptions } from '../chat/chat-prompt.ts';
import { answerCount, isGreedy, numbered, samplingOfAnswer, several } from '../chat/choices.ts';
import type { ChatArgs, CountTokensArgs, GenerateArgs } from '../chat/text-arguments.ts';
import { type TextModel, textMethods } from '../chat/text-methods.ts';
import type { TokenizeArgs } from '../chat/tokens.ts';
import { AnswerReader } from './answer.ts';
import { dialogBody } from './dialog-body.ts';
import { type Dialect, samplingBody, takesN } from './dialects.ts';
import { AnswerFormatError } from './format-error.ts';
import { OpenAiServer } from './server.ts';
import { findServer, type FoundServer } from './server-facts.ts';
import { PromptShortener } from './shortening.ts';
import { ServerTokens } from './tokens.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/openai-text-generation-deployment.ts`. */
interface OpenAiSpec {
  readonly base_url: string;
  readonly model?: string;
  readonly server: Dialect | 'auto';
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly propagate_trace: boolean;
  readonly timeout_s: number;
  readonly idle_timeout_s: number;
  readonly start_wait_s: number;
  readonly max_retries: number;
  readonly max_parallel: number;
  readonly default_sampling_params: SamplingParams;
  readonly network?: NetworkSettings;
}

type Pieces = AsyncGenerator<TextChunk, GenerationDetails | undefined>;

const WAIT_BETWEEN_TRIES_MS = 1000;

export async function start(spec: OpenAiSpec, { log, progress, artifactPath }: StartContext): Promise<Implementation> {
  const options = {
    baseUrl: spec.base_url,
    apiKey: apiKeyOf(spec),
    headers: spec.headers,
    propagatesTrace: spec.propagate_trace,
    timeoutMs: spec.timeout_s * 1000,
    idleTimeoutMs: spec.idle_timeout_s * 1000,
    network: spec.network ? networkOf(spec.network) : undefined,
    log,
  };
  const probe = new OpenAiServer({ ...options, model: spec.model ?? 'the model', maxRetries: 0, timeoutMs: 10_000 });
  const found = await waitForServer(spec, probe, progress);
  const server = new OpenAiServer({ ...options, model: found.model, maxRetries: spec.max_retries });
  const tokens = new ServerTokens(server, found, artifactPath);
  const remote = new RemoteModel(server, found, tokens, spec, artifactPath);
  return {
    info: { model: found.model, server: found.dialect, address: server.address, contextTokens: found.contextTokens },
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      ...textMethods(remote),
      count_tokens: (args, context) => tokens.count(args as unknown as CountTokensArgs, context),
      tokenize: (args, context) => tokens.tokenize(args as unknown as TokenizeArgs, context),
      detokenize: (args, context) => tokens.detokenize(args as { tokens: number[] }, context),
    },
    reconfigure: async (next) => remote.reconfigure(next as OpenAiSpec),
    gpuMemory: () => [],
  };
}

/** The host puts the value of the variable into `api_key`. */
function apiKeyOf({ api_key: key, api_key_env: variable }: OpenAiSpec): string | undefined {
  if (variable === undefined) return key;
  if (key !== undefined && key !== '') return key;
  throw fail('ConfigError', `user_config.api_key_env: the environment variable ${variable} is not set`);
}

/** Waits until the server answers, because it may be loading its model. Fails at once if it refuses. */
async function waitForServer(
  spec: OpenAiSpec,
  server: OpenAiServer,
  progress: StartContext['progress'],
): Promise<FoundServer> {
  const untilMs = performance.now() + spec.start_wait_s * 1000;
  for (;;) {
    try {
      return await findServer(server, spec);
    } catch (error) {
      const mayPass =
        error instanceof AanaError && ['RemoteServerUnavailable', 'DeadlineExceeded'].includes(error.name);
      if (!mayPass || performance.now() + WAIT_BETWEEN_TRIES_MS > untilMs) throw error;
      progress(undefined, `waiting for ${server.address}`);
      await delay(WAIT_BETWEEN_TRIES_MS);
    }
  }
}

class RemoteModel implements TextModel {
  readonly mostPrompts: number;
  readonly #server: OpenAiServer;
  readonly #found: FoundServer;
  readonly #tokens: ServerTokens;
  readonly #artifactPath: StartContext['artifactPath'];
  readonly #shortener: PromptShortener;
  #spec: OpenAiSpec;

  constructor(
    server: OpenAiServer,
    found: FoundServer,
    tokens: ServerTokens,
    spec: OpenAiSpec,
    artifactPath: StartContext['artifactPath'],
  ) {
    this.#server = server;
    this.#found = found;
    this.#tokens = tokens;
    this.#shortener = new PromptShortener(server, found, tokens);
    this.#spec = spec;
    this.#artifactPath = artifactPath;
    this.mostPrompts = spec.max_parallel;
  }

  get defaults(): SamplingParams {
    return this.#spec.default_sampling_params;
  }

  /** Changes the sampling defaults for later answers. The host makes new replicas for any other change. */
  reconfigure(next: OpenAiSpec): void {
    this.#spec = { ...this.#spec, default_sampling_params: next.default_sampling_params };
  }

  /**
   * Returns the options of a chat as the server knows them. Throws `NotSupportedByServer` for one that it cannot take.
   */
  #optionsBody(options: ChatOptions): Record<string, unknown> {
    const { dialect } = this.#found;
    const tools = activeTools(options);
    const { tool_choice: choice, parallel_tool_calls: parallel, chat_template_kwargs: template } = options;
    const isReasoningText = options.reasoning_format === 'none';
    if (template && dialect === 'openai') throw this.#notSupported('chat_template_kwargs', 'vllm and llama-server');
    if (isReasoningText && dialect !== 'llama-server') throw this.#notSupported('reasoning_format', 'llama-server');
    return {
      ...(tools.length > 0 && { tools }),
      ...(tools.length > 0 && choice != null && { tool_choice: choice }),
      ...(tools.length > 0 && parallel != null && { parallel_tool_calls: parallel }),
      ...(template && { chat_template_kwargs: template }),
      ...(isReasoningText && { reasoning_format: 'none' }),
    };
  }

  #notSupported(option: string, others: string): AanaError {
    return fail(
      'NotSupportedByServer',
      `${this.#server.address} (${this.#found.dialect}) cannot take ${option}; only ${others} can`,
    );
  }

  async *chatPieces(
    {
      dialog,
      sampling_params: wanted,
      assistant_prefix: prefix,
      response_format: format,
      adapter,
      overflow,
      ...rest
    }: ChatArgs,
    context: CallContext,
  ): Pieces {
    const sampling = withinLimit(this.#spec.default_sampling_params, wanted, context);
    const options = this.#optionsBody(rest);
    const { dialect } = this.#found;
    const isPrefixed = prefix != null && prefix !== '';
    if (isPrefixed && dialect === 'openai')
      throw fail(
        'NotSupportedByServer',
        `${this.#server.address} cannot continue an answer (assistant_prefix); only vllm and llama-server can`,
      );
    const asked = { ...rest, assistant_prefix: prefix ?? null };
    const fitting = await this.#shortener.dialog(dialog, asked, overflow, this.#maxTokens(sampling), context);
    const count = answerCount(sampling);
    if (isPrefixed) for (let index = 0; index < count; index += 1) yield numbered({ text: prefix }, index);
    const details = yield* this.#run(
      'chat/completions',
      {
        ...options,
        ...(await dialogBody(fitting.prompt, prefix, this.#artifactPath)),
        ...(format && { response_format: named(format) }),
      },
      sampling,
      adapter,
      context,
    );
    return withDropped(details, fitting.dropped);
  }

  async *pieces({ prompt, sampling_params: wanted, adapter, overflow }: GenerateArgs, context: CallContext): Pieces {
    const sampling = withinLimit(this.#spec.default_sampling_params, wanted, context);
    const fitting = await this.#shortener.text(prompt, overflow, this.#maxTokens(sampling), context);
    const details = yield* this.#run('completions', { prompt: fitting.prompt }, sampling, adapter, context);
    return withDropped(details, fitting.dropped);
  }

  #maxTokens(sampling: SamplingParams | null | undefined): number | null | undefined {
    return sampling?.max_tokens ?? this.#spec.default_sampling_params.max_tokens;
  }

  /** Asks once for all answers, or once for each where the server gives only one. */
  #run(
    path: string,
    prompt: Readonly<Record<string, unknown>>,
    sampling: SamplingParams | null | undefined,
    adapter: string | null | undefined,
    context: CallContext,
  ): Pieces {
    const defaults = this.#spec.default_sampling_params;
    const count = answerCount(sampling);
    // vLLM refuses several greedy answers to one request.
    const isOne = count === 1 || (takesN(this.#found.dialect) && !isGreedy(defaults, sampling));
    if (isOne) return this.#ask(path, prompt, sampling, adapter, context);
    return several(count, context.signal, (index, signal) =>
      this.#ask(path, prompt, samplingOfAnswer(defaults, sampling, index), adapter, { ...context, signal }),
    );
  }

  async *#ask(
    path: string,
    prompt: Readonly<Record<string, unknown>>,
    sampling: SamplingParams | null | undefined,
    adapter: string | null | undefined,
    context: CallContext,
  ): Pieces {
    const { dialect, model, contextTokens } = this.#found;
    if (adapter != null && dialect !== 'vllm')
      throw fail('NotSupportedByServer', `${this.#server.address} (${dialect}) has no adapters by name; only vllm has`);
    const body = {
      model: adapter ?? model, // vLLM serves each adapter as a model
      ...prompt,
      ...samplingBody(dialect, this.#spec.default_sampling_params, sampling, {
        contextTokens,
        isChat: path.startsWith('chat'),
      }),
      stream: true,
      stream_options: { include_usage: true },
    };
    const topLogprobs = sampling?.logprobs ?? this.#spec.default_sampling_params.logprobs;
    const reader = new AnswerReader(sampling?.n ?? 1, topLogprobs ?? 0);
    for await (const data of this.#server.events(path, body, context))
      for (const chunk of this.#read(reader, data)) yield await this.#tokens.fill(chunk, context);
    if (!reader.isWhole)
      throw new InferenceException(model, `the answer of ${this.#server.address} ended before it was whole`);
    return reader.details();
  }

  #read(reader: AnswerReader, data: string): NonNullable<ReturnType<AnswerReader['read']>> {
    let chunks: ReturnType<AnswerReader['read']>;
    try {
      chunks = reader.read(data);
    } catch (error) {
      throw error instanceof AnswerFormatError ? this.#server.invalidAnswer(error) : error;
    }
    if (!chunks) throw this.#server.eventError(data);
    return chunks;
  }
}

const withDropped = (
  details: GenerationDetails | undefined,
  dropped: GenerationDetails['dropped'],
): GenerationDetails | undefined => details && { ...details, ...(dropped && { dropped }) };

/** Returns the form of an answer with a name for its schema, which OpenAI's API needs. */
function named(format: ResponseFormat): ResponseFormat {
  if (format.type !== 'json_schema') return format;
  return { ...format, json_schema: { name: 'answer', ...format.json_schema } };
}
