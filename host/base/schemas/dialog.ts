import * as z from 'zod/mini';
import { MAX_NAME, MAX_TEXT, MAX_MESSAGES, MAX_CONTENT_PARTS, MAX_MEMBERS, recordOf, anyObject } from './bounds.ts';
import { absent } from './fields.ts';
import { AudioReference, ImageReference } from './media-references.ts';

/** Levels of arrays and objects in a JSON Schema and in the arguments of a call. Deeper ones are refused. */
const MAX_DEPTH = 32;
/** Values in the JSON Schema of a tool, at any depth. */
const MAX_SCHEMA_VALUES = 4096;
/** Tools of a request, and calls of them in a message. */
export const MAX_TOOLS = 1024;
/**
 * Properties of an object. The time for a grammar grows with the cube of their number: 100 take 60 ms, 2000 a minute.
 */
const MAX_PROPERTIES = 100;
/** Properties of all tools of a request. */
const MAX_ALL_PROPERTIES = 2000;

const Text = z.string().check(z.maxLength(MAX_TEXT));

const ToolName = z
  .string()
  .check(
    z.maxLength(64),
    z.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, underscores and dashes.'),
  );

/** Returns whether the text is the JSON of an object that is not nested too deeply. */
function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && depthOf(value) <= MAX_DEPTH;
  } catch {
    return false;
  }
}

function depthOf(value: unknown): number {
  let level: unknown[] = [value];
  let depth = 0;
  for (; level.length > 0 && depth <= MAX_DEPTH; depth += 1)
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  return depth;
}

/** A call of a tool by the model, as in OpenAI's API. */
export const ToolCall = z.strictObject({
  id: z.string().check(z.minLength(1), z.maxLength(256), z.describe('The name of the call.')),
  type: z._default(z.literal('function'), 'function'),
  function: z.strictObject({
    name: ToolName,
    arguments: z
      .string()
      .check(
        z.maxLength(MAX_TEXT),
        z.refine(isObjectText, `must be the JSON text of an object of at most ${MAX_DEPTH} levels.`),
        z.describe('The JSON text of an object.'),
      ),
  }),
});
export type ToolCall = z.infer<typeof ToolCall>;

const Role = z.enum(['system', 'user', 'assistant', 'tool']).check(z.describe('The author of the message.'));

const Name = z.string().check(z.maxLength(256), z.describe('The name of the author or of the tool.'));
const Reasoning = z
  .string()
  .check(z.maxLength(MAX_TEXT), z.describe('The reasoning of the assistant before its answer.'));
const ToolCalls = z.array(ToolCall).check(z.maxLength(MAX_TOOLS), z.describe('The calls of tools by the assistant.'));
const ToolCallId = z
  .string()
  .check(z.maxLength(256), z.describe('The call that a message of the role `tool` answers.'));

export const ChatMessage = z.strictObject({
  content: Text.check(z.describe('The text of the message.')),
  role: Role,
  name: z.optional(Name),
  reasoning_content: z.optional(Reasoning),
  tool_calls: z.optional(ToolCalls),
  tool_call_id: z.optional(ToolCallId),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

/** Images and audio of all messages of a dialog, without the frames of videos. */
const MAX_MEDIA = 64;
/** Frames of all videos of a dialog. */
const MAX_FRAMES = 256;

const Time = z.number().check(z.minimum(0), z.describe('Seconds from the start of the video.'));

const ownParts = [
  z.strictObject({ type: z.literal('text'), text: Text }),
  z.strictObject({
    type: z.literal('image'),
    image: ImageReference,
    time: z.optional(
      Time.check(
        z.describe('For a frame of a video: seconds from its start, which the model reads as a text before the image.'),
      ),
    ),
  }),
  z.strictObject({ type: z.literal('audio'), audio: AudioReference }),
] as const;

/** A text, an image or audio in a message. */
export const ContentPart = z.discriminatedUnion('type', ownParts);
export type ContentPart = z.infer<typeof ContentPart>;

const VideoFrame = z.union([z.strictObject({ time: Time, image: ImageReference }), ImageReference]);

/** A part as a caller may write it: a video is a list of frames, with their times or without. */
const ContentPartInput = z.discriminatedUnion(
  'type',
  [
    ...ownParts,
    z.strictObject({
      type: z.literal('video'),
      video: z.array(VideoFrame).check(z.minLength(1), z.maxLength(MAX_FRAMES)),
    }),
  ],
  {
    error: ({ input }) =>
      `must be "text", "image", "audio" or "video": models take no content of the type ${typeOf(input)}.`,
  },
);
type ContentPartInput = z.output<typeof ContentPartInput>;

/** Returns what a part of an unknown type gives as its type. */
function typeOf(part: unknown): string {
  const type = typeof part === 'object' && part !== null && 'type' in part ? part.type : undefined;
  return (JSON.stringify(type) ?? 'undefined').slice(0, 100);
}

/** A message of a dialog. Its content is a list only if it has an image or audio. */
export const DialogMessage = z.extend(ChatMessage, {
  content: z.union([Text, z.array(ContentPart).check(z.maxLength(MAX_CONTENT_PARTS))]),
});
export type DialogMessage = z.infer<typeof DialogMessage>;

/** A dialog of texts. */
export const ChatDialog = z.strictObject({
  messages: z.array(ChatMessage).check(z.minLength(1), z.maxLength(MAX_MESSAGES)),
});
export type ChatDialog = z.infer<typeof ChatDialog>;

/** A dialog whose messages may have images and audio. */
export const ImageChatDialog = z.strictObject({
  messages: z.array(DialogMessage).check(z.minLength(1), z.maxLength(MAX_MESSAGES)),
});
export type ImageChatDialog = z.infer<typeof ImageChatDialog>;

/** Images and videos of {@link promptDialog}. */
export interface PromptMedia<Image> {
  readonly images?: readonly Image[];
  /** Each a list of frames, with their times in seconds or without. */
  readonly videos?: readonly (readonly (Image | { readonly time: number; readonly image: Image })[])[];
}

/** Returns a dialog with one message of the user: the images, then the videos, then the text. */
export function promptDialog<Image>(prompt: string, { images = [], videos = [] }: PromptMedia<Image> = {}) {
  const content = [
    ...images.map((image) => ({ type: 'image' as const, image })),
    ...videos.map((video) => ({ type: 'video' as const, video })),
    { type: 'text' as const, text: prompt },
  ];
  return { messages: [{ role: 'user' as const, content }] };
}

/** Returns whether a dialog has neither an image nor audio. */
export function isTextDialog(dialog: ImageChatDialog): dialog is ChatDialog {
  return dialog.messages.every(({ content }) => typeof content === 'string');
}

/** Returns the texts of a content. Images and audio are left out. */
export function textOfContent(content: DialogMessage['content']): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

const MessageInput = z
  .strictObject({
    content: absent(z.union([Text, z.array(ContentPartInput).check(z.maxLength(MAX_CONTENT_PARTS))])).check(
      z.describe('A text, or a list of texts, images, videos and audio. A message with tool calls may have none.'),
    ),
    role: Role,
    name: absent(Name),
    reasoning_content: absent(Reasoning),
    tool_calls: absent(ToolCalls),
    tool_call_id: absent(ToolCallId),
  })
  .check((context) => {
    const { role, content, tool_calls: calls, reasoning_content: reasoning, tool_call_id: callId } = context.value;
    const refuse = (key: string, message: string): void =>
      void context.issues.push({ code: 'custom', input: context.value, path: [key], message });
    if ((content ?? undefined) === undefined && !calls?.length)
      context.issues.push({ code: 'invalid_type', expected: 'string', input: content, path: ['content'] });
    if (calls?.length && role !== 'assistant') refuse('tool_calls', 'only messages of the assistant have tool calls.');
    if (typeof reasoning === 'string' && role !== 'assistant')
      refuse('reasoning_content', 'only messages of the assistant have reasoning.');
    if (typeof callId === 'string' && role !== 'tool')
      refuse('tool_call_id', 'only messages of the role tool answer a tool call.');
  });

const isMedium = ({ type }: { readonly type: string }): boolean => type !== 'text';

/** Returns the parts of a content with each video as its frames. */
const withFrames = (parts: readonly ContentPartInput[]): ContentPart[] =>
  parts.flatMap((part): ContentPart[] =>
    part.type !== 'video'
      ? [part]
      : part.video.map((frame) => ({ type: 'image', ...('time' in frame ? frame : { image: frame }) })),
  );

/** Returns the message with its content as one text, unless it has an image, a video or audio. */
function withText(message: z.output<typeof MessageInput>): z.input<typeof DialogMessage> {
  const { role, content, name, reasoning_content: reasoning, tool_calls: calls, tool_call_id: callId } = message;
  const parts = Array.isArray(content) && content.some(isMedium) ? withFrames(content) : undefined;
  return {
    content: parts ?? textOfContent((content ?? '') as DialogMessage['content']),
    role,
    ...(typeof name === 'string' && { name }),
    ...(typeof reasoning === 'string' && { reasoning_content: reasoning }),
    ...(calls?.length && { tool_calls: calls }),
    ...(typeof callId === 'string' && { tool_call_id: callId }),
  };
}

/** Whether a part is a frame of a video. Frames without a time count as images. */
const isFrame = (part: ContentPart | undefined): boolean => part?.type === 'image' && part.time !== undefined;

/** Returns the number of such parts in messages, of which some may have been refused. */
const countParts = (
  messages: readonly (Partial<DialogMessage> | undefined)[],
  isCounted: (part: ContentPart | undefined) => boolean,
): number =>
  messages.reduce(
    (sum, message) => sum + (Array.isArray(message?.content) ? message.content.filter(isCounted).length : 0),
    0,
  );

/** A dialog as a caller may write it: contents may be lists or missing. Checking makes an {@link ImageChatDialog}. */
export const ChatDialogInput = z.strictObject({
  messages: z.array(z.pipe(z.pipe(MessageInput, z.transform(withText)), DialogMessage)).check(
    z.maxLength(MAX_MESSAGES),
    z.minLength(1),
    z.refine(
      (messages) => countParts(messages, (part) => part?.type !== 'text' && !isFrame(part)) <= MAX_MEDIA,
      `have more than ${MAX_MEDIA} images and audio.`,
    ),
    z.refine(
      (messages) => countParts(messages, isFrame) <= MAX_FRAMES,
      `have more than ${MAX_FRAMES} frames of videos.`,
    ),
  ),
});
export type ChatDialogInput = z.input<typeof ChatDialogInput>;

const sizeOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.keys(value).length : 0;

/** Returns the number of properties in a JSON Schema, at any depth. */
function countProperties(schema: unknown): number {
  let count = 0;
  const open = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if ('properties' in value) count += sizeOf(value.properties);
    for (const member of Object.values(value)) open.push(member);
  }
  return count;
}

/** Returns why a JSON Schema cannot become a grammar; undefined when it can be tried. */
function schemaProblem(schema: object): string | undefined {
  if (depthOf(schema) > MAX_DEPTH) return `must have at most ${MAX_DEPTH} levels.`;
  const open: unknown[] = [schema];
  for (let count = 0; open.length > 0; count += 1) {
    if (count > MAX_SCHEMA_VALUES) return `must have at most ${MAX_SCHEMA_VALUES} values.`;
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (key === 'properties' && sizeOf(member) > MAX_PROPERTIES)
        return `has an object with ${sizeOf(member)} properties; at most ${MAX_PROPERTIES} can be.`;
      if (key === '$ref' && typeof member === 'string' && !member.startsWith('#'))
        return `has the $ref ${JSON.stringify(member)}; references must stay inside the schema and begin with "#".`;
      open.push(member);
    }
  }
  return undefined;
}

const Parameters = anyObject.check(z.describe('A JSON Schema of the arguments. Default: no arguments.'), (context) => {
  const message = schemaProblem(context.value);
  if (message !== undefined) context.issues.push({ code: 'custom', input: context.value, path: [], message });
});

/** A function that the model may call, as in OpenAI's API. */
export const ToolDefinition = z.strictObject({
  type: z._default(z.literal('function'), 'function'),
  function: z.strictObject({
    name: ToolName,
    description: z.optional(z.nullable(Text.check(z.describe('Tells the model when to call the function.')))),
    parameters: z.optional(z.nullable(Parameters)),
    strict: z.optional(
      z.nullable(
        z
          .boolean()
          .check(
            z.describe(
              'Whether a schema is refused that cannot bind the arguments wholly. Calls that must be made are ' +
                'always strict.',
            ),
          ),
      ),
    ),
  }),
});
export type ToolDefinition = z.infer<typeof ToolDefinition>;
export type ToolDefinitionInput = z.input<typeof ToolDefinition>;

export const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: ToolName }) }),
]);
export type ToolChoice = z.infer<typeof ToolChoice>;

/** Variables of a chat template that only the engine sets. */
const RESERVED = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'];

const TemplateArguments = recordOf(z.string().check(z.maxLength(MAX_NAME)), z.unknown(), MAX_MEMBERS).check(
  z.refine((given) => RESERVED.every((name) => !Object.hasOwn(given, name)), {
    error: `must not have ${RESERVED.join(', ')}.`,
  }),
  z.refine((given) => typeof (given['enable_thinking'] ?? true) === 'boolean', {
    error: 'enable_thinking must be a boolean.',
  }),
  z.refine((given) => depthOf(given) <= MAX_DEPTH, { error: `must have at most ${MAX_DEPTH} levels.` }),
  z.describe("Arguments of the model's chat template, such as {enable_thinking: false}."),
);

/** Options of `chat` and `chat_stream` beside the dialog and the sampling, named as in the APIs of OpenAI and vLLM. */
export const chatOptions = {
  tools: absent(
    z.array(ToolDefinition).check(
      z.maxLength(MAX_TOOLS),
      z.refine((tools) => new Set(tools.map((tool) => tool.function.name)).size === tools.length, {
        error: 'must have different names.',
      }),
      z.refine(
        (tools) =>
          tools.reduce((sum, { function: { parameters } }) => sum + countProperties(parameters), 0) <=
          MAX_ALL_PROPERTIES,
        { error: `must have at most ${MAX_ALL_PROPERTIES} properties together.` },
      ),
      z.describe('Functions that the model may call.'),
    ),
  ),
  tool_choice: absent(
    ToolChoice.check(
      z.describe(
        'Whether the model calls tools: "auto" (default) leaves it to the model, "none" hides them, "required" ' +
          'forces a call of any, an object with a name a call of that one.',
      ),
    ),
  ),
  parallel_tool_calls: absent(
    z.boolean().check(z.describe("Whether an answer may have several calls. Default: as the model's template.")),
  ),
  chat_template_kwargs: absent(TemplateArguments),
  reasoning_format: absent(
    z
      .enum(['auto', 'none', 'deepseek'])
      .check(
        z.describe(
          '"auto" (default) and "deepseek" split the reasoning off from the answer, "none" leaves it in the text.',
        ),
      ),
  ),
};
