import type { ImageReference } from '../../../../base/schemas/media-references.ts';
import type {
  AnswerForm,
  CompletionRequest,
  ContentPart,
  Sampling,
  SamplingParams,
  Tool,
  ToolCall,
  ToolChoice,
  Turn,
} from '../../../../../wit/generated/world/llm.ts';
import { given, invalid, jsonMembers, jsonValue, withMore } from '../scope/json-members.ts';

/** Returns the JSON texts of a request, whose size and depth are limited before they cross to the host. */
export function jsonTexts({ turns, sampling, tools, form, templateArguments, more }: CompletionRequest): string[] {
  return [
    ...turns.flatMap(({ toolCalls }) => toolCalls.map((call) => call.arguments)),
    ...tools.map(({ parameters }) => parameters),
    ...[sampling.more, templateArguments, more],
    ...(form?.tag === 'json-schema' ? [form.val] : []),
  ].filter((text) => text !== undefined);
}

/** Returns the arguments for the deployment's `chat` and `chat_stream`. The deployment checks their values. */
export function completionArguments(
  request: CompletionRequest,
  images: readonly ImageReference[],
): Record<string, unknown> {
  const { turns, tools, toolChoice, form, closeJson } = request;
  const { format, structured } = formArguments(form, closeJson);
  const sampling = samplingParams(request.sampling, structured);
  return withMore(
    {
      dialog: { messages: turns.map((turn, n) => message(turn, images, `turns[${n}]`)) },
      sampling_params: Object.keys(sampling).length > 0 ? sampling : undefined,
      tools: tools.length > 0 ? tools.map((tool, n) => toolDefinition(tool, `tools[${n}]`)) : undefined,
      tool_choice: toolChoice && toolChoiceOf(toolChoice),
      parallel_tool_calls: request.parallelToolCalls,
      response_format: format,
      assistant_prefix: request.assistantPrefix,
      adapter: request.adapter,
      overflow: request.overflow?.replace('-', '_'),
      reasoning_format: request.reasoningFormat,
      chat_template_kwargs:
        request.templateArguments === undefined
          ? undefined
          : jsonMembers(request.templateArguments, 'template-arguments'),
      details: undefined, // `more` must not have it, because the host asks for the details
    },
    request.more,
    'more',
  );
}

function message(turn: Turn, images: readonly ImageReference[], what: string): Record<string, unknown> {
  const { author, content, name, reasoning, toolCalls, toolCallId } = turn;
  return given({
    role: author,
    content: content.length > 0 ? contentOf(content, images, what) : undefined,
    name,
    reasoning_content: reasoning,
    tool_calls: toolCalls.length > 0 ? toolCalls.map(toolCall) : undefined,
    tool_call_id: toolCallId,
  });
}

function contentOf(parts: readonly ContentPart[], images: readonly ImageReference[], what: string): unknown {
  const [first, ...others] = parts;
  if (first?.tag === 'text' && others.length === 0) return first.val;
  return parts.map((part, n) => {
    if (part.tag === 'text') return { type: 'text', text: part.val };
    const image = images[part.val];
    if (image === undefined)
      throw invalid(`${what}.content[${n}] names image ${part.val}, but ${images.length} were given`);
    return { type: 'image', image };
  });
}

const toolCall = ({ id, name, arguments: json }: ToolCall): unknown => ({
  id,
  type: 'function',
  function: { name, arguments: json },
});

const toolDefinition = ({ name, description, parameters, strict }: Tool, what: string): unknown => ({
  type: 'function',
  function: given({
    name,
    description,
    parameters: parameters === undefined ? undefined : jsonMembers(parameters, `${what}.parameters`),
    strict,
  }),
});

function toolChoiceOf(choice: ToolChoice): unknown {
  return choice.tag === 'named' ? { type: 'function', function: { name: choice.val } } : choice.tag;
}

/** A form as OpenAI's API has it, where it can say it, because servers know it; else as vLLM has it. */
function formArguments(
  form: AnswerForm | undefined,
  closeJson: boolean | undefined,
): { readonly format?: unknown; readonly structured?: unknown } {
  const structured = (members: Record<string, unknown>) => ({
    structured: given({ ...members, close_json: closeJson }),
  });
  switch (form?.tag) {
    case undefined:
      return closeJson === undefined ? {} : structured({});
    case 'text':
      return { format: { type: 'text' } };
    case 'json-object':
      return closeJson ? structured({ json_object: true }) : { format: { type: 'json_object' } };
    case 'json-schema': {
      const schema = jsonValue(form.val, 'form');
      return closeJson ? structured({ json: schema }) : { format: { type: 'json_schema', json_schema: { schema } } };
    }
    case 'regex':
    case 'choice':
    case 'grammar':
      return structured({ [form.tag]: form.val });
  }
}

/** Returns the parameters of the older record as the deployment's methods name them. */
export function simpleSamplingParams(params: SamplingParams): Record<string, unknown> {
  return {
    temperature: params.temperature,
    top_p: params.topP,
    top_k: params.topK,
    min_p: params.minP,
    max_tokens: params.maxTokens,
    repetition_penalty: params.repetitionPenalty,
    seed: params.seed,
    stop: params.stop.length > 0 ? params.stop : undefined,
  };
}

function samplingParams({ params, logitBias, ...sampling }: Sampling, structured: unknown): Record<string, unknown> {
  const { stopTokenIds: ids, badWords: words } = sampling;
  return withMore(
    {
      ...simpleSamplingParams(params),
      typical_p: sampling.typicalP,
      presence_penalty: sampling.presencePenalty,
      frequency_penalty: sampling.frequencyPenalty,
      min_tokens: sampling.minTokens,
      ignore_eos: sampling.ignoreEos,
      stop_token_ids: ids.length > 0 ? Array.from(ids) : undefined,
      logit_bias: logitBias.length > 0 ? Object.fromEntries(logitBias.map(([id, bias]) => [id, bias])) : undefined,
      bad_words: words.length > 0 ? words : undefined,
      n: sampling.n,
      logprobs: sampling.logprobs,
      prompt_logprobs: sampling.promptLogprobs,
      reproducible: sampling.reproducible,
      structured_outputs: structured,
    },
    sampling.more,
    'sampling.more',
  );
}
