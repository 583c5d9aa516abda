import * as z from 'zod';
import { MAX_TEXT, MAX_NAME, MAX_DATA, MAX_CONTENT_PARTS, anyObject, MAX_TOOLS } from '../../../base/schemas/index.ts';
import type { ChatDialogInput } from '../../../base/schemas/index.ts';
import { unsupported } from '../fields.ts';
import type { MediaParts } from '../media/media-part.ts';
import { CalledFunction, functionCall, ToolCall } from './call-shapes.ts';
import { withFunctionType } from './custom-tools.ts';
import { withToolCalls } from './function-calls.ts';
import { isReasoning, reasoningIn, ReasoningPart } from './reasoning-parts.ts';

const Text = z.object({ type: z.literal('text'), text: z.string().max(MAX_TEXT) });
const Refusal = z.object({ type: z.literal('refusal'), refusal: z.string().max(MAX_TEXT) });
const Image = z.object({
  type: z.literal('image_url'),
  image_url: z.object({
    url: z.string().max(MAX_DATA),
    detail: z.nullish(z.enum(['auto', 'low', 'high', 'original'])),
  }),
});
const Video = z
  .object({ type: z.literal('video_url'), video_url: z.object({ url: z.string().max(MAX_DATA) }) })
  .describe('As in vLLM.');
const Audio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string().max(MAX_DATA), format: z.string().max(MAX_NAME) }),
});
const File = z.object({ type: z.literal('file'), file: anyObject });
const Part = z.discriminatedUnion('type', [Text, Refusal, Image, Video, Audio, File, ReasoningPart]);
type Part = z.output<typeof Part>;

/**
 * A message of a request. Keys that only answers have, such as `annotations`, are dropped, because clients send answers
 * back as they came.
 */
export const RequestMessage = z.object({
  role: z.enum(['developer', 'system', 'user', 'assistant', 'tool', 'function']),
  content: z.nullish(z.union([z.string().max(MAX_TEXT), z.array(Part).max(MAX_CONTENT_PARTS)])),
  name: z.nullish(z.string().max(MAX_NAME)),
  refusal: z.nullish(z.string().max(MAX_TEXT)),
  reasoning_content: z.nullish(z.string().max(MAX_TEXT)),
  tool_calls: z.nullish(z.array(z.preprocess(withFunctionType, ToolCall)).max(MAX_TOOLS)),
  function_call: z.nullish(CalledFunction),
  tool_call_id: z.nullish(z.string().max(MAX_NAME)),
});
export type RequestMessage = Omit<z.output<typeof RequestMessage>, 'content'> & {
  content?: string | Part[] | null | undefined;
};

/** A dialog whose media are not opened yet. */
type Dialog = { messages: Message[] };
type Content = string | (TextPart | ReturnType<MediaParts['takeImage' | 'takeVideo' | 'takeAudio']>)[] | null;
type Message = Omit<ChatDialogInput['messages'][number], 'content'> & { content: Content };
type TextPart = { readonly type: 'text'; readonly text: string };

/**
 * Returns the dialog for a deployment. Throws `UnsupportedParameter` for content that is neither text nor an image, a
 * video or audio that `media` takes.
 */
export function dialogOf(messages: readonly RequestMessage[], media: MediaParts): Dialog {
  return { messages: withToolCalls(messages).map((message, index) => messageOf(message, index, media)) };
}

const ROLES = { developer: 'system', function: 'tool' } as const;

function messageOf(message: RequestMessage, index: number, media: MediaParts): Message {
  const { role: given, content, refusal, name, tool_calls: calls } = message;
  const { tool_call_id: callId } = message;
  const role = given === 'developer' || given === 'function' ? ROLES[given] : given;
  const parts = typeof content === 'string' ? content : contentOf(content ?? undefined, role, index, media);
  const reasoning = message.reasoning_content ?? reasoningIn(content);
  // Clients send back answers without a text, and results of tools that returned nothing.
  const mayBeEmpty = role === 'assistant' || role === 'tool';
  return {
    role,
    content: parts ?? refusal ?? (mayBeEmpty ? '' : null),
    ...(name != null && { name }),
    ...(role === 'assistant' && reasoning != null && { reasoning_content: reasoning }),
    ...(calls?.length && { tool_calls: calls.map(functionCall) }),
    ...(role === 'tool' && callId != null && { tool_call_id: callId }),
  };
}

/** Returns one text, or the parts of a content that has an image or audio. */
function contentOf(
  content: readonly Part[] | undefined,
  role: Message['role'],
  message: number,
  media: MediaParts,
): Exclude<Content, null> | undefined {
  const parts = content?.flatMap((part, n) => {
    const path = `messages[${message}].content[${n}]`;
    if (role === 'assistant' && isReasoning(part)) return [];
    if (part.type === 'text') return { type: 'text' as const, text: part.text };
    if (part.type === 'refusal') return { type: 'text' as const, text: part.refusal };
    if (part.type === 'image_url') return media.takeImage(part.image_url.url, path);
    if (part.type === 'video_url') return media.takeVideo(part.video_url.url, path);
    if (part.type === 'input_audio') return media.takeAudio(part.input_audio.data, path);
    throw unsupported(`${path}.type`, `the model takes no content of the type ${part.type}`);
  });
  if (parts?.some(({ type }) => type !== 'text')) return parts;
  return parts?.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
