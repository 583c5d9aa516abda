import * as z from 'zod';
import { hostedPart, isHosted } from '../hosted-parts.ts';
import { Attributes } from '../vector-stores/store-fields.ts';
import { MAX_TEXT, MAX_NAME, MAX_DATA, MAX_CONTENT_PARTS } from '../../../base/schemas/index.ts';

/**
 * An id that a client may give to an item. Ids of this server are `msg_`, `rs_`, `fc_`, `ctc_` or `fs_` and 32
 * hexadecimal digits.
 */
const ItemId = z
  .string()
  .max(MAX_TEXT)
  .regex(/^[\x21-\x7e]{1,256}$/, 'must have 1 to 256 characters of ASCII without spaces');

const shared = {
  id: z.nullish(ItemId),
  status: z.nullish(z.enum(['in_progress', 'completed', 'incomplete'])),
};

const Image = z.object({
  type: z.literal('input_image'),
  image_url: z.nullish(z.string().max(MAX_DATA)),
  file_id: z.nullish(z.string().max(MAX_NAME)),
  detail: z.nullish(z.enum(['auto', 'low', 'high', 'original'])),
});
/** Audio becomes its transcript, and a file of text its text, before a model sees it. Others are refused. */
const File = z.object({
  type: z.literal('input_file'),
  file_data: z.nullish(z.string().max(MAX_DATA)),
  file_id: z.nullish(z.string().max(MAX_NAME)),
  filename: z.nullish(z.string().max(MAX_NAME)),
});
const Audio = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string().max(MAX_DATA), format: z.string().max(MAX_NAME) }),
});

const InputPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('input_text'), text: z.string().max(MAX_TEXT) }),
  z.object({ type: z.literal('output_text'), text: z.string().max(MAX_TEXT) }),
  z.object({ type: z.literal('refusal'), refusal: z.string().max(MAX_TEXT) }),
  Image,
  File,
  Audio,
]);
export type InputPart = z.output<typeof InputPart>;

const InputContent = z.union([z.string().max(MAX_TEXT), z.array(InputPart).max(MAX_CONTENT_PARTS)]);

const InputMessage = z.object({
  type: z.literal('message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: InputContent,
  ...shared,
});

const InputCall = z.object({
  type: z.literal('function_call'),
  call_id: z.string().min(1).max(256),
  name: z.string().max(MAX_NAME),
  arguments: z.string().max(MAX_TEXT),
  ...shared,
});

const InputCallOutput = z.object({
  type: z.literal('function_call_output'),
  call_id: z.string().min(1).max(256),
  output: InputContent,
  ...shared,
});

const InputCustomCall = z.object({
  type: z.literal('custom_tool_call'),
  call_id: z.string().min(1).max(256),
  name: z.string().max(MAX_NAME),
  input: z.string().max(MAX_TEXT),
  ...shared,
});

const InputCustomOutput = InputCallOutput.extend({ type: z.literal('custom_tool_call_output') });

const InputReasoning = z.object({
  type: z.literal('reasoning'),
  summary: z.nullish(
    z.array(z.object({ type: z.literal('summary_text'), text: z.string().max(MAX_TEXT) })).max(MAX_CONTENT_PARTS),
  ),
  content: z.nullish(
    z.array(z.object({ type: z.literal('reasoning_text'), text: z.string().max(MAX_TEXT) })).max(MAX_CONTENT_PARTS),
  ),
  ...shared,
});

const InputSearch = z.object({
  type: z.literal('file_search_call'),
  id: z.nullish(ItemId),
  status: z.nullish(z.enum(['in_progress', 'searching', 'completed', 'incomplete', 'failed'])),
  queries: z.array(z.string().max(MAX_TEXT)).max(100),
  results: z.nullish(
    z
      .array(
        z.object({
          file_id: z.string().max(MAX_NAME),
          filename: z.string().max(MAX_NAME),
          score: z.nullish(z.number()),
          attributes: z.nullish(Attributes),
          text: z.string().max(MAX_TEXT),
        }),
      )
      .max(100),
  ),
});

const ItemReference = z.object({ type: z.literal('item_reference'), id: ItemId });

/** What tools of other servers have left in a dialog. It is dropped. */
export const HostedItem = hostedPart([
  'web_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'tool_search_call',
  'tool_search_output',
  'program',
  'program_output',
]);
type HostedItem = z.output<typeof HostedItem>;

/** Adds the type where OpenAI's API lets clients leave it out: of messages, and of references. */
function withType(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || ('type' in item && item.type != null)) return item;
  return { ...item, type: 'role' in item || !('id' in item) ? 'message' : 'item_reference' };
}

/**
 * An item of `input`. Keys that only answers have, such as `annotations`, are dropped, because clients send answers
 * back as they came.
 */
export const InputItem = z.preprocess(
  withType,
  z.discriminatedUnion(
    'type',
    [
      InputMessage,
      InputCall,
      InputCallOutput,
      InputCustomCall,
      InputCustomOutput,
      InputReasoning,
      InputSearch,
      ItemReference,
      HostedItem,
    ],
    {
      error:
        'must be one of message, function_call, function_call_output, custom_tool_call, custom_tool_call_output, ' +
        'reasoning, file_search_call, item_reference and the items of hosted tools',
    },
  ),
);
export type InputItem = z.output<typeof InputItem>;
export type OwnItem = Exclude<InputItem, HostedItem>;

/** Whether an item is a part of the prompt. */
export const isOwnItem = (item: InputItem): item is OwnItem => !isHosted(HostedItem, item);
