import * as z from 'zod';
import type { ChatDialogInput } from '../../schemas/index.ts';
import { unsupported } from '../fields.ts';

const optional = <Schema extends z.core.$ZodType>(schema: Schema) => z.optional(z.nullable(schema));

const Text = z.object({ type: z.literal('text'), text: z.string() });
const Refusal = z.object({ type: z.literal('refusal'), refusal: z.string() });
const Image = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string(), detail: optional(z.enum(['auto', 'low', 'high', 'original'])) }),
});
const Audio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string(), format: z.string() }),
});
const File = z.object({ type: z.literal('file'), file: z.record(z.string(), z.unknown()) });
const Part = z.discriminatedUnion('type', [Text, Refusal, Image, Audio, File]);
type Part = z.output<typeof Part>;

const Call = z.object({
  id: z.string(),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/**
 * A message of a request. Keys that only answers have, such as `annotations`, are dropped, because clients send answers
 * back as they came.
 */
export const RequestMessage = z.object({
  role: z.enum(['developer', 'system', 'user', 'assistant', 'tool', 'function']),
  content: optional(z.union([z.string(), z.array(Part)])),
  name: optional(z.string()),
  refusal: optional(z.string()),
  reasoning_content: optional(z.string()),
  tool_calls: optional(z.array(Call)),
  tool_call_id: optional(z.string()),
});
export type RequestMessage = z.output<typeof RequestMessage>;

/** Returns the dialog for a deployment. Throws `UnsupportedParameter` for content that is not text. */
export function dialogOf(messages: readonly RequestMessage[]): ChatDialogInput {
  return { messages: messages.map(messageOf) };
}

const ROLES = { developer: 'system', function: 'tool' } as const;

function messageOf(message: RequestMessage, index: number): ChatDialogInput['messages'][number] {
  const { role: given, content, refusal, name, reasoning_content: reasoning, tool_calls: calls } = message;
  const { tool_call_id: callId } = message;
  const role = given === 'developer' || given === 'function' ? ROLES[given] : given;
  const text = typeof content === 'string' ? content : content?.map((part, n) => textOf(part, index, n)).join('\n');
  return {
    role,
    content: text ?? refusal ?? (calls?.length ? '' : null),
    ...(name != null && { name }),
    ...(role === 'assistant' && reasoning != null && { reasoning_content: reasoning }),
    ...(calls?.length && { tool_calls: calls }),
    ...(role === 'tool' && callId != null && { tool_call_id: callId }),
  };
}

function textOf(part: Part, message: number, index: number): string {
  if (part.type === 'text') return part.text;
  if (part.type === 'refusal') return part.refusal;
  throw unsupported(
    `messages[${message}].content[${index}].type`,
    `the model takes no content of the type ${part.type}`,
  );
}
