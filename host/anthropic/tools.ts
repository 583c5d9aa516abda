import * as z from 'zod';
import { type Blame, type ChatRequest, unsupported } from '../openai/index.ts';
import { ToolDefinition, MAX_NAME, MAX_TOOLS } from '../schemas/index.ts';
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
      'Tools that the client runs: its own, `bash_20250124`, `text_editor_20250124`, `text_editor_20250429`, `text_editor_20250728` and `memory_20250818`. Tools that a server runs, such as `web_search_20250305`, are refused.',
    ),
  tool_choice: z
    .optional(z.nullable(ToolChoice))
    .describe('`auto`, `any`, one tool, or `none`; `disable_parallel_tool_use`: at most one call.'),
} as const;

const ToolFields = z.object(toolFields);

type ChatToolFields = Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

/** Returns the tools of a request as those of a chat request. Throws `UnsupportedParameter` for a tool of a server. */
export function chatTools({ tools, tool_choice: choice }: z.output<typeof ToolFields>): ChatToolFields {
  return {
    ...(tools?.length && { tools: tools.map(chatTool) }),
    ...(choice && { tool_choice: chatToolChoice(choice) }),
    ...(choice && choice.type !== 'none' && choice.disable_parallel_tool_use && { parallel_tool_calls: false }),
  };
}

function chatTool(
  { type, name: called, description: text, input_schema: schema, strict: isStrict }: Tool,
  n: number,
): NonNullable<ChatRequest['tools']>[number] {
  const known = type == null || type === 'custom' ? { description: text, parameters: schema } : clientTool(type);
  if (!known)
    throw unsupported(
      `tools[${n}].type`,
      'this server has no tools of its own: only the type custom, and those of bash, the text editor and the memory can be used',
    );
  return { type: 'function', function: { name: called, ...known, strict: isStrict } };
}

/** Where the tools of a chat request are in a request of Anthropic's API. */
export const toolOrigins = ({ tools }: z.output<typeof ToolFields>): Blame =>
  Object.fromEntries(
    (tools ?? []).flatMap((_, n) => [
      [`tools[${n}].function`, `tools[${n}]`],
      [`tools[${n}].function.parameters`, `tools[${n}].input_schema`],
    ]),
  );

function chatToolChoice(choice: ToolChoice): NonNullable<ChatRequest['tool_choice']> {
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } };
  return choice.type === 'any' ? 'required' : choice.type;
}
