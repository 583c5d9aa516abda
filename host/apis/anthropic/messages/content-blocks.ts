import * as z from 'zod';
import { hostedPart } from '../../openai/index.ts';
import { ToolDefinition, MAX_TEXT, MAX_NAME, MAX_CONTENT_PARTS, anyObject } from '../../../base/schemas/index.ts';
import { DocumentBlock, SearchResultBlock } from './documents.ts';
import { ImageBlock, TextBlock } from './text-blocks.ts';

const ToolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1).max(MAX_NAME),
  name: ToolDefinition.shape.function.shape.name,
  /** Clients store what was no JSON as a text, and the input of a cut call not at all. */
  input: z.optional(z.nullable(z.union([anyObject, z.string().max(MAX_TEXT)]))),
});

const ToolResultBlock = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string().max(MAX_NAME),
  content: z.optional(
    z.nullable(
      z.union([
        z.string().max(MAX_TEXT),
        z
          .array(z.discriminatedUnion('type', [TextBlock, ImageBlock, DocumentBlock, SearchResultBlock]))
          .max(MAX_CONTENT_PARTS),
      ]),
    ),
  ),
});

/** Reasoning of an earlier answer. Its signature may be that of any server. */
const ThinkingBlock = z.object({ type: z.literal('thinking'), thinking: z.string().max(MAX_TEXT) });

/** Reasoning that only the server that wrote it can read. It is dropped. */
const RedactedThinkingBlock = z.object({ type: z.literal('redacted_thinking') });

/** What tools of Anthropic's servers have left in a message. It is dropped. */
export const HostedBlock = hostedPart([
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'advisor_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'mcp_tool_listing',
  'fallback',
  'container_upload',
]);

/** A part of a message of a request. */
export const ContentBlock = z.discriminatedUnion('type', [
  TextBlock,
  ToolUseBlock,
  ToolResultBlock,
  ThinkingBlock,
  RedactedThinkingBlock,
  ImageBlock,
  DocumentBlock,
  SearchResultBlock,
  HostedBlock,
]);
export type ContentBlock = z.output<typeof ContentBlock>;

/** A message of a request. */
export const MessageParam = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string().max(MAX_TEXT), z.array(ContentBlock).max(MAX_CONTENT_PARTS)]),
});
export type MessageParam = z.output<typeof MessageParam>;
