import * as z from 'zod';
import { MAX_CONTENT_PARTS, MAX_TEXT } from '../../../base/schemas/index.ts';

const text = z.optional(z.nullable(z.string().max(MAX_TEXT)));

/**
 * Reasoning of an earlier answer among the parts of a message, as other servers write it. That of `redacted_thinking`
 * only its server can read.
 */
export const ReasoningPart = z.object({
  type: z.enum(['thinking', 'reasoning', 'redacted_thinking']),
  thinking: z.union([text, z.array(z.object({ text })).max(MAX_CONTENT_PARTS)]),
  reasoning: text,
  text,
});
type ReasoningPart = z.output<typeof ReasoningPart>;

/** Whether a part of a message is reasoning. */
export const isReasoning = (part: { readonly type: string }): part is ReasoningPart =>
  ReasoningPart.shape.type.options.some((type) => type === part.type);

/** Returns the reasoning in a content; undefined if it has none. */
export function reasoningIn(
  content: string | readonly { readonly type: string }[] | null | undefined,
): string | undefined {
  if (!Array.isArray(content)) return undefined;
  const texts = (content as readonly { readonly type: string }[]).filter(isReasoning).flatMap(textsOf);
  return texts.length > 0 ? texts.join('\n') : undefined;
}

function textsOf({ thinking, reasoning, text: plain }: ReasoningPart): string[] {
  const given = Array.isArray(thinking) ? thinking.map((part) => part.text) : [thinking, reasoning, plain];
  return given.filter((one) => one != null);
}
