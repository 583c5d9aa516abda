import * as z from 'zod';
import { chatOptions, ToolDefinition, MAX_NAME, MAX_TOOLS } from '../../../base/schemas/index.ts';
import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import { indexedTools } from '../hosted-tools.ts';
import type { CustomNames } from './custom-calls.ts';
import { CustomTool, functionOf, type Grammar, grammarProblem, withFunctionType } from './custom-tools.ts';

/** What tools of types that this server does not have are answered with. */
export const TOOL_TYPES = 'this server has only tools of the types function and custom';

const FunctionTool = z.strictObject({ type: z.literal('function'), function: ToolDefinition.shape.function });
const Tool = z.preprocess(withFunctionType, z.discriminatedUnion('type', [FunctionTool, CustomTool], TOOL_TYPES));
type Tool = z.output<typeof Tool>;

const Named = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('function'), function: z.object({ name: z.string().max(MAX_NAME) }) }),
    z.object({ type: z.literal('custom'), custom: z.object({ name: z.string().max(MAX_NAME) }) }),
  ],
  TOOL_TYPES,
);
type Named = z.output<typeof Named>;
const Allowed = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(Named).max(MAX_TOOLS) }),
});

/**
 * Returns the schema of a list of tools. `toolOf` makes a tool of the list one of chat completions, or none of a hosted
 * tool, and `grammarPath` tells where a custom tool has the definition of its grammar.
 */
export function toolList<Schema extends z.core.$ZodType>(
  schema: Schema,
  toolOf: (tool: z.output<Schema>) => Tool | undefined,
  grammarPath: readonly string[],
) {
  return z
    .array(schema)
    .max(MAX_TOOLS)
    .check(({ value, issues }) => {
      const indexed = indexedTools(value, toolOf);
      const tools = indexed.map(({ tool }) => tool);
      const refuse = (message: string, [n, ...path]: readonly (string | number)[] = []): void => {
        const index = typeof n === 'number' ? [indexed[n]!.index] : [];
        issues.push({ code: 'custom', input: value, path: [...index, ...path], message });
      };
      const problem = grammarProblem(tools.map(grammarOf));
      if (problem) return refuse(problem.message, [problem.index, ...grammarPath]);
      for (const { message, path } of chatOptions.tools.safeParse(tools.map(bareFunction)).error?.issues ?? [])
        refuse(message, path as (string | number)[]);
    });
}

function grammarOf(tool: Tool): Grammar | undefined {
  const format = tool.type === 'custom' ? tool.custom.format : undefined;
  return format?.type === 'grammar' ? format.grammar : undefined;
}

const nameOf = (tool: Named): string => (tool.type === 'function' ? tool.function.name : tool.custom.name);

/** Returns the function of a tool without the grammar of a custom tool, which takes time to read. */
const bareFunction = (tool: Tool): ToolDefinition =>
  tool.type === 'function' ? tool : functionOf({ type: tool.type, custom: { name: tool.custom.name } });

export const toolFields = {
  tools: z
    .optional(z.nullable(toolList(Tool, (tool) => tool, ['custom', 'format', 'grammar', 'definition'])))
    .describe(
      'Functions that the model may call, and custom tools, whose input is one text. The `format` of a custom tool ' +
        'can be a grammar, which the text obeys.',
    ),
  tool_choice: z
    .optional(z.nullable(z.union([z.enum(['none', 'auto', 'required']), z.union([Named, Allowed])])))
    .describe(
      '`none`, `auto`, `required`, one function or custom tool, or `allowed_tools`: some of the tools. One tool is ' +
        'called once, unless `parallel_tool_calls` is `true`.',
    ),
  parallel_tool_calls: chatOptions.parallel_tool_calls,
} as const;

const ToolFields = z.object(toolFields);
type ToolFields = z.output<typeof ToolFields>;

/** Returns the arguments about tools for a deployment. Throws `InvalidParameter` for a choice of an unknown tool. */
export function toolArguments({
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: ToolFields): Record<string, unknown> {
  const allowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice.allowed_tools : undefined;
  const given = tools ?? [];
  const named = typeof choice === 'object' && choice !== null && choice.type !== 'allowed_tools' ? choice : undefined;
  if (named) requireTool(given, named);
  if (choice === 'required' && given.length === 0) throw invalidValue('tool_choice', 'the request has no tools');
  for (const tool of allowed?.tools ?? []) requireTool(given, tool);
  const usable = usableTools({ tools, tool_choice: choice });
  const asked = named ? { type: 'function', function: { name: nameOf(named) } } : (allowed?.mode ?? choice);
  return {
    ...(usable.length > 0 && { tools: usable.map((tool) => (tool.type === 'function' ? tool : functionOf(tool))) }),
    ...(asked != null && usable.length > 0 && { tool_choice: asked }),
    // Clients that name a tool read one call, as from OpenAI's models.
    ...((parallel != null || named !== undefined) && { parallel_tool_calls: parallel ?? false }),
  };
}

/** Whether these arguments leave the model no choice but to call a tool. */
export const mustCall = ({ tool_choice: choice }: Readonly<Record<string, unknown>>): boolean =>
  choice === 'required' || typeof choice === 'object';

/** Returns the tools that the model may see. */
function usableTools({ tools, tool_choice: choice }: Pick<ToolFields, 'tools' | 'tool_choice'>): readonly Tool[] {
  if (typeof choice !== 'object' || choice?.type !== 'allowed_tools') return tools ?? [];
  const names = new Set(choice.allowed_tools.tools.map(nameOf));
  return (tools ?? []).filter((tool) => names.has(nameOf(tool)));
}

/** Where the tools of a deployment are in a request. */
export function toolBlame(fields: Pick<ToolFields, 'tools' | 'tool_choice'>): Blame {
  const entries = usableTools(fields).flatMap((tool, index): [string, string][] => {
    const path = `tools[${fields.tools!.indexOf(tool)}]`;
    const own: [string, string] = [`tools[${index}]`, path];
    if (tool.type === 'function') return [own];
    return [
      own,
      [`tools[${index}].function`, `${path}.custom`],
      [`tools[${index}].function.parameters`, `${path}.custom.format`],
    ];
  });
  return Object.fromEntries(entries);
}

function requireTool(tools: readonly Tool[], named: Named): void {
  const name = nameOf(named);
  const kind = named.type === 'function' ? 'function' : 'custom tool';
  if (!tools.some((tool) => tool.type === named.type && nameOf(tool) === name))
    throw invalidValue('tool_choice', `the tools of the request have no ${kind} ${JSON.stringify(name.slice(0, 64))}`);
}

/** Returns the names of the custom tools among the tools of a request. */
export const customNames = (tools: ToolFields['tools']): CustomNames =>
  new Set(tools?.flatMap((tool) => (tool.type === 'custom' ? [tool.custom.name] : [])));
