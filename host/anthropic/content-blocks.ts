import * as z from 'zod';
import { ToolDefinition, MAX_TEXT, MAX_NAME, MAX_DATA, MAX_CONTENT_PARTS, anyObject } from '../schemas/index.ts';

/** A text. Keys without effect, such as `cache_control` and `citations`, are dropped. */
export const TextBlock = z.object({ type: z.literal('text'), text: z.string().max(MAX_TEXT) });
export type TextBlock = z.output<typeof TextBlock>;

const ToolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1).max(MAX_NAME),
  name: ToolDefinition.shape.function.shape.name,
  input: anyObject,
});

const ImageBlock = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.string().max(MAX_DATA),
    }),
    z.object({ type: z.literal('url'), url: z.string().max(MAX_DATA) }),
  ]),
});

/** Blocks that no model of this server reads. They are refused with their place in the request. */
const UnreadBlock = z.object({ type: z.enum(['document', 'search_result']) });

const ToolResultBlock = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().max(MAX_NAME),
  content: z.optional(
    z.union([
      z.string().max(MAX_TEXT),
      z.array(z.discriminatedUnion('type', [TextBlock, ImageBlock, UnreadBlock])).max(MAX_CONTENT_PARTS),
    ]),
  ),
});

const ThinkingBlock = z.object({ type: z.literal('thinking'), thinking: z.string().max(MAX_TEXT) });

/** Reasoning that only the server that wrote it can read. It is dropped. */
const RedactedThinkingBlock = z.object({ type: z.literal('redacted_thinking') });

/** A part of a message of a request. */
export const ContentBlock = z.discriminatedUnion('type', [
  TextBlock,
  ToolUseBlock,
  ToolResultBlock,
  ThinkingBlock,
  RedactedThinkingBlock,
  ImageBlock,
  UnreadBlock,
]);
export type ContentBlock = z.output<typeof ContentBlock>;

/** A message of a request. */
export const MessageParam = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string().max(MAX_TEXT), z.array(ContentBlock).max(MAX_CONTENT_PARTS)]),
});
export type MessageParam = z.output<typeof MessageParam>;
