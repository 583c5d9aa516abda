import * as z from 'zod';
import {
  chatOptions,
  Overflow,
  ToolDefinition,
  MAX_TEXT,
  MAX_NAME,
  anyObject,
  MAX_TOOLS,
} from '../../../base/schemas/index.ts';
import { ChatRequest } from '../chat/chat-fields.ts';
import { customTool, FlatCustomTool } from '../chat/custom-tools.ts';
import { toolList } from '../chat/tools.ts';
import type { RequestFields } from '../fields.ts';
import type { HostedTools } from '../hosted-tools.ts';
import { Metadata } from '../text/metadata.ts';
import { COMMON_TEXT_IDLE } from '../text/idle-fields.ts';
import { tokenFields } from '../text/sampling-fields.ts';
import { type HostedPart, hostedParts } from '../hosted-parts.ts';
import { FileSearchTool, MAX_SEARCHES, SEARCH_FUNCTION } from './file-search/search-tool.ts';
import { HostedItem, InputItem } from './input-items.ts';

const { description, name, parameters, strict } = ToolDefinition.shape.function.shape;

const FunctionTool = z.object({ type: z.literal('function'), name, description, parameters, strict });
const RESPONSE_TOOL_TYPES = 'this server has only tools of the types function, custom and file_search';
export const ResponseTool = z.discriminatedUnion(
  'type',
  [FunctionTool, FlatCustomTool, FileSearchTool],
  RESPONSE_TOOL_TYPES,
);
export type ResponseTool = z.output<typeof ResponseTool>;

const HostedTool = z.object({
  type: z.enum([
    'web_search',
    'web_search_2025_08_26',
    'web_search_preview',
    'web_search_preview_2025_03_11',
    'code_interpreter',
    'image_generation',
    'computer',
    'computer_use',
    'computer_use_preview',
    'mcp',
  ]),
});
const RequestTool = z.discriminatedUnion(
  'type',
  [FunctionTool, FlatCustomTool, FileSearchTool, HostedTool],
  RESPONSE_TOOL_TYPES,
);
type RequestTool = z.output<typeof RequestTool>;

/** Whether the model can call a tool of a request. */
export const isOwnTool = (tool: RequestTool): tool is ResponseTool =>
  tool.type === 'function' || tool.type === 'custom' || tool.type === 'file_search';

const Named = z.union([
  z.object({ type: z.enum(['function', 'custom']), name: z.string().max(MAX_NAME) }),
  FileSearchTool.pick({ type: true }),
]);
export const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  Named,
  z.object({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: z.array(Named).max(MAX_TOOLS),
  }),
]);

/** Returns a tool as one of a chat completion; undefined for a hosted tool. */
export function chatTool(tool: RequestTool): NonNullable<ChatRequest['tools']>[number] | undefined {
  if (!isOwnTool(tool)) return undefined;
  if (tool.type === 'file_search') return SEARCH_FUNCTION;
  if (tool.type === 'custom') return customTool(tool);
  const { type, ...definition } = tool;
  return { type, function: definition };
}

export const TextFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: z.string().max(256),
    description: z.nullish(z.string().max(MAX_TEXT)),
    schema: anyObject,
    strict: z.nullish(z.boolean()),
  }),
]);

/** Tells that answers have the log-probabilities of their tokens. */
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs';

/** Tells that searches of files have their results. */
export const INCLUDE_RESULTS = 'file_search_call.results';

/** Values of `include`. All but the first two ask for parts that no answer here has, so they change nothing. */
const INCLUDABLE = [
  INCLUDE_LOGPROBS,
  INCLUDE_RESULTS,
  'reasoning.encrypted_content',
  'message.input_image.image_url',
  'web_search_call.results',
  'web_search_call.action.sources',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
] as const;

const MAX_ITEMS = 10_000;

/** The parameters that decide about the prompt. */
const promptFields = {
  model: ChatRequest.shape.model,
  input: z
    .union([z.string().max(MAX_TEXT), z.array(InputItem).max(MAX_ITEMS)])
    .describe(
      'A text, or items: messages with texts, files that are text or PDF, as `file_id` or `file_data` (and audio ' +
        'with `openai.audio_input.deployment`), `function_call`, `function_call_output`, `custom_tool_call`, ' +
        '`custom_tool_call_output`, `reasoning`, `file_search_call` and `item_reference`. Items of hosted tools, ' +
        'such as `web_search_call`, are dropped; a `compaction` is refused.',
    ),
  instructions: z.nullish(z.string().max(MAX_TEXT)).describe('A system message for this response only.'),
  previous_response_id: z.nullish(z.string().max(MAX_NAME)).describe('A stored response that this one continues.'),
  tools: z
    .nullish(toolList(RequestTool, chatTool, ['format', 'definition']))
    .describe(
      'Functions and custom tools that the model may call, as in chat completions, and `file_search`, with which the ' +
        'server searches vector stores for the model. Other tools that OpenAI’s servers run, such as `web_search`, ' +
        'are refused, or dropped with the setting `openai.hosted_tools`.',
    ),
  tool_choice: z
    .nullish(ToolChoice)
    .describe(
      '`none`, `auto`, `required`, one function or custom tool, `file_search`, or `allowed_tools`: some of the tools.',
    ),
  parallel_tool_calls: chatOptions.parallel_tool_calls,
  reasoning: z
    .nullish(z.object({ effort: ChatRequest.shape.reasoning_effort }))
    .describe("`effort` is an argument of the model's chat template; `none` also sets `enable_thinking` to false."),
  text: z.nullish(z.object({ format: z.nullish(TextFormat) })).describe('`format`: the form of the answer.'),
  truncation: z
    .nullish(z.enum(['auto', 'disabled']))
    .describe('`auto`: a prompt that is too long loses its oldest turns. Default: it is refused.'),
  overflow: z.nullish(Overflow),
  chat_template_kwargs: ChatRequest.shape.chat_template_kwargs,
};

/** The parameters of `POST /v1/responses` that have an effect. */
export const ResponseRequest = z.object({
  ...promptFields,
  stream: z.nullish(z.boolean()),
  background: z
    .nullish(z.boolean())
    .describe(
      'Whether the answer is only the beginning of the response, which a task makes. It needs `store` and the ' +
        'task queue.',
    ),
  store: z
    .nullish(z.boolean())
    .describe('Whether the response can be retrieved and continued. Default: the setting `openai.responses.store`.'),
  max_tool_calls: z
    .nullish(z.int().min(1))
    .describe(`Most searches of files. There are at most ${MAX_SEARCHES}, and then the model no longer sees the tool.`),
  metadata: Metadata.describe('Texts that the response keeps.'),
  max_output_tokens: ChatRequest.shape.max_completion_tokens,
  include: z
    .nullish(z.array(z.enum(INCLUDABLE)).max(100))
    .describe(
      `\`${INCLUDE_LOGPROBS}\` and \`${INCLUDE_RESULTS}\` have an effect. Reasoning is always told, and not encrypted.`,
    ),
  top_logprobs: z.nullish(z.int().min(0).max(20)),
  ...tokenFields,
  reasoning_format: chatOptions.reasoning_format,
  user: z.nullish(z.string().max(MAX_NAME)).describe('The response keeps it. The user of the API key counts.'),
  safety_identifier: z.nullish(z.string().max(MAX_NAME)).describe('The response keeps it.'),
  prompt_cache_key: z
    .nullish(z.string().max(MAX_NAME))
    .describe('The response keeps it. Equal beginnings of prompts are found without it.'),
});
export type ResponseRequest = z.output<typeof ResponseRequest>;

/** Members of the parameters that decide about the prompt. */
const IDLE_MEMBERS = {
  'reasoning.summary': { why: 'reasoning is told as it is' },
  'reasoning.generate_summary': { why: 'reasoning is told as it is' },
  'reasoning.context': { why: 'the template of the model decides', neutral: ['auto'] },
  'reasoning.mode': { why: 'no model knows it', neutral: ['standard'] },
  'text.verbosity': { why: 'no model knows it', neutral: ['medium'] },
  'tools[].allowed_callers': { why: 'the model is the only caller of tools', neutral: [['direct']] },
  'tools[].defer_loading': { why: 'the model sees all tools from the beginning', neutral: [false] },
  'tools[].output_schema': { why: 'the outputs of tools are texts for the model' },
} as const;

const REFUSED = {
  conversation: { why: 'this server has no conversations; use previous_response_id', isRefused: true },
  prompt: { why: 'this server has no prompt templates', isRefused: true },
} as const;

const HOSTED_TOOLS: HostedTools = {
  typeOf: ({ type }) => (HostedTool.safeParse({ type }).success ? (type ?? undefined) : undefined),
  why: RESPONSE_TOOL_TYPES,
};

const hostedItems = ({ input }: Pick<InputTokensRequest, 'input'>): HostedPart[] =>
  typeof input === 'string' ? [] : hostedParts(HostedItem, input, ['input']);

/** All parameters of `POST /v1/responses`. */
export const RESPONSE_FIELDS = {
  schema: ResponseRequest,
  hostedTools: HOSTED_TOOLS,
  hostedParts: hostedItems,
  idle: {
    ...COMMON_TEXT_IDLE,
    ...IDLE_MEMBERS,
    ...REFUSED,
    stream_options: { why: 'events have no padding', isHarmless: true },
    n: { why: 'a response has one answer', neutral: [1] },
    best_of: { why: 'a response has one answer', neutral: [1] },
    context_management: { why: 'dialogs are not compacted; use truncation' },
  },
} as const satisfies RequestFields;

/** All parameters of `POST /v1/responses/input_tokens`. */
export const InputTokensRequest = z.object(promptFields);
export type InputTokensRequest = z.output<typeof InputTokensRequest>;
export const INPUT_TOKENS_FIELDS = {
  schema: InputTokensRequest,
  hostedTools: HOSTED_TOOLS,
  hostedParts: hostedItems,
  idle: {
    ...IDLE_MEMBERS,
    ...REFUSED,
    background: { why: 'tokens are counted at once' },
    personality: { why: 'no model knows it' },
  },
} as const satisfies RequestFields;
