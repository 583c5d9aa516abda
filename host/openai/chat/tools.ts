import * as z from 'zod';
import { chatOptions, type ToolDefinition } from '../../schemas/index.ts';
import { invalidValue } from '../fields.ts';

const Named = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) });
const Allowed = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: z.array(Named) }),
});

export const toolFields = {
  tools: chatOptions.tools,
  tool_choice: z
    .optional(z.nullable(z.union([z.enum(['none', 'auto', 'required']), z.union([Named, Allowed])])))
    .describe(
      '`none`, `auto`, `required`, one function, or `allowed_tools`: some of the tools. One function is called once, unless `parallel_tool_calls` is `true`.',
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
  const named = typeof choice === 'object' && choice?.type === 'function' ? choice.function.name : undefined;
  if (named !== undefined) requireTool(given, named);
  if (choice === 'required' && given.length === 0) throw invalidValue('tool_choice', 'the request has no tools');
  for (const {
    function: { name },
  } of allowed?.tools ?? [])
    requireTool(given, name);
  const names = new Set(allowed?.tools.map((tool) => tool.function.name));
  const usable = allowed ? given.filter((tool) => names.has(tool.function.name)) : given;
  return {
    ...(usable.length > 0 && { tools: usable }),
    ...(choice != null && usable.length > 0 && { tool_choice: allowed?.mode ?? choice }),
    // Clients that name a function read one call, as from OpenAI's models.
    ...((parallel != null || named !== undefined) && { parallel_tool_calls: parallel ?? false }),
  };
}

function requireTool(tools: readonly ToolDefinition[], name: string): void {
  if (!tools.some((tool) => tool.function.name === name))
    throw invalidValue('tool_choice', `the tools of the request have no function ${JSON.stringify(name.slice(0, 64))}`);
}
