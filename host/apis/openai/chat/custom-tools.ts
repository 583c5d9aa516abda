import * as z from 'zod';
import { ToolDefinition, MAX_TEXT } from '../../../base/schemas/index.ts';
import { textPattern, UnusableStructure } from '../../../base/structured-output/index.ts';

/** Characters that the grammars of all custom tools of a request may have together, because the host reads them. */
const MOST_GRAMMAR_CHARS = 65_536;

const { name, description } = ToolDefinition.shape.function.shape;
const Text = z.object({ type: z.literal('text') });
const Grammar = z.object({ definition: z.string().max(MAX_TEXT), syntax: z.enum(['lark', 'regex']) });
export type Grammar = z.output<typeof Grammar>;

/** A tool whose input is one text, as in chat completions. */
export const CustomTool = z.strictObject({
  type: z.literal('custom'),
  custom: z.strictObject({
    name,
    description,
    format: z.nullish(z.discriminatedUnion('type', [Text, z.object({ type: z.literal('grammar'), grammar: Grammar })])),
  }),
});
export type CustomTool = z.output<typeof CustomTool>;

/** The same as in responses. */
export const FlatCustomTool = z.object({
  type: z.literal('custom'),
  name,
  description,
  format: z.nullish(z.discriminatedUnion('type', [Text, z.object({ type: z.literal('grammar'), ...Grammar.shape })])),
});
export type FlatCustomTool = z.output<typeof FlatCustomTool>;

/** Returns a tool of a response as one of a chat completion. */
export function customTool({ type, format, ...custom }: FlatCustomTool): CustomTool {
  if (format?.type !== 'grammar') return { type, custom: { ...custom, format } };
  const { definition, syntax } = format;
  return { type, custom: { ...custom, format: { type: format.type, grammar: { definition, syntax } } } };
}

/** Adds the type of a tool or a call where clients may leave it out. */
export function withFunctionType(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || ('type' in item && item.type != null)) return item;
  return { ...item, type: 'function' };
}

/**
 * Returns the function that stands for a custom tool. Models know only functions, so the input is its one argument.
 * A grammar binds the argument.
 */
export function functionOf({ custom }: CustomTool): ToolDefinition {
  const { format } = custom;
  const grammar = format?.type === 'grammar' ? format.grammar : undefined;
  const input = { type: 'string', ...(grammar && { pattern: textPattern(grammar) }) };
  return {
    type: 'function',
    function: {
      name: custom.name,
      ...(custom.description != null && { description: custom.description }),
      parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
      ...(grammar && { strict: true }),
    },
  };
}

/** Returns why grammars of tools cannot bind the answers of a model, with the index of the tool. */
export function grammarProblem(
  grammars: readonly (Grammar | undefined)[],
): { readonly index: number; readonly message: string } | undefined {
  let chars = 0;
  for (const [index, grammar] of grammars.entries()) {
    if (!grammar) continue;
    chars += grammar.definition.length;
    if (chars > MOST_GRAMMAR_CHARS)
      return { index, message: `grammars of tools must have at most ${MOST_GRAMMAR_CHARS} characters together` };
    try {
      textPattern(grammar);
    } catch (error) {
      if (!(error instanceof UnusableStructure)) throw error;
      return { index, message: error.message };
    }
  }
  return undefined;
}
