import * as z from 'zod';
import { ToolDefinition } from '../schemas/index.ts';

/** A text. Keys without effect, such as `cache_control` and `citations`, are dropped. */
export const TextBlock = z.object({ type: z.literal('text'), text: z.string() });
export type TextBlock = z.output<typeof TextBlock>;

const ToolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: ToolDefinition.shape.function.shape.name,
  input: z.record(z.string(), z.unknown()),
});

const ImageBlock = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.string(),
    }),
    z.object({ type: z.literal('url'), url: z.string() }),
  ]),
});

/** Blocks that no model of this server reads. They are refused with their place in the request. */
const UnreadBlock = z.object({ type: z.enum(['document', 'search_result']) });

const ToolResultBlock = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.optional(
    z.union([z.string(), z.array(z.discriminatedUnion('type', [TextBlock, ImageBlock, UnreadBlock]))]),
  ),
});

const ThinkingBlock = z.object({ type: z.literal('thinking'), thinking: z.string() });

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
  content: z.union([z.string(), z.array(ContentBlock)]),
});
export type MessageParam = z.output<typeof MessageParam>;
