import * as z from 'zod';
import { type Blame, type ChatRequest, type HostedTools, indexedTools, toolPaths } from '../../openai/index.ts';
import { ToolDefinition, MAX_NAME, MAX_TOOLS } from '../../../base/schemas/index.ts';
import { clientTool } from './client-tools.ts';

const { name, description, parameters, strict } = ToolDefinition.shape.function.shape;

const Tool = z.object({
  type: z.optional(z.nullable(z.string().max(MAX_NAME))),
  name,
  description,
  input_schema: parameters,
  strict,
});

type Tool = z.output<typeof Tool>;

const parallel = { disable_parallel_tool_use: z.optional(z.nullable(z.boolean())) };

const ToolChoice = z.discriminatedUnion('type', [
  z.object({ type: z.literal('auto'), ...parallel }),
  z.object({ type: z.literal('any'), ...parallel }),
  z.object({ type: z.literal('tool'), name: z.string().max(MAX_NAME), ...parallel }),
  z.object({ type: z.literal('none') }),
]);
type ToolChoice = z.output<typeof ToolChoice>;

export const toolFields = {
  tools: z
    .optional(z.nullable(z.array(Tool).max(MAX_TOOLS)))
    .describe(
      'Tools that the client runs: its own, `bash_20250124`, `text_editor_20250124`, `text_editor_20250429`, ' +
        '`text_editor_20250728` and `memory_20250818`. Others that Anthropic defines, such as ' +
        '`web_search_20250305`, are refused, or dropped with the setting `openai.hosted_tools`.',
    ),
  tool_choice: z
    .optional(z.nullable(ToolChoice))
    .describe('`auto`, `any`, one tool, or `none`; `disable_parallel_tool_use`: at most one call.'),
} as const;

const ToolFields = z.object(toolFields);

type ChatToolFields = Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

/** Returns the tools of a request as those of a chat request. */
export function chatTools({ tools, tool_choice: choice }: z.output<typeof ToolFields>): ChatToolFields {
  const indexed = indexedTools(tools ?? [], chatTool);
  return {
    ...(indexed.length > 0 && { tools: indexed.map(({ tool }) => tool) }),
    ...(choice && { tool_choice: chatToolChoice(choice) }),
    ...(choice && choice.type !== 'none' && choice.disable_parallel_tool_use && { parallel_tool_calls: false }),
  };
}

/** Where the tools of a chat request are in a request of Anthropic's API. */
export const toolOrigins = ({ tools }: z.output<typeof ToolFields>): Blame =>
  toolPaths(indexedTools(tools ?? [], chatTool), { function: '', 'function.parameters': '.input_schema' });

/** Tools that Anthropic's servers run, and those that see a screen. */
export const HOSTED_TOOLS: HostedTools = {
  typeOf: ({ type }) => (type == null || type === 'custom' || clientTool(type) ? undefined : type),
  why:
    'this server has no tools of its own: only the type custom, and those of bash, the text editor and the ' +
    'memory can be used',
};

/** Returns a tool as one of a chat request; undefined for a hosted tool. */
function chatTool({
  type,
  name: called,
  description: text,
  input_schema: schema,
  strict: isStrict,
}: Tool): NonNullable<ChatRequest['tools']>[number] | undefined {
  const known = type == null || type === 'custom' ? { description: text, parameters: schema } : clientTool(type);
  return known && { type: 'function', function: { name: called, ...known, strict: isStrict } };
}

function chatToolChoice(choice: ToolChoice): NonNullable<ChatRequest['tool_choice']> {
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } };
  return choice.type === 'any' ? 'required' : choice.type;
}
