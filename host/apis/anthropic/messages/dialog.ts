import { type Blame, type FilePart, invalidValue, type RequestMessage } from '../../openai/index.ts';
import type { ContentBlock, MessageParam } from './content-blocks.ts';
import { documentBlocks, type LocatedBlock, searchResultBlocks } from './documents.ts';
import type { ImageBlock, TextBlock } from './text-blocks.ts';

type BlockOf<Type extends ContentBlock['type']> = Extract<ContentBlock, { readonly type: Type }>;

/** The role whose messages have blocks of a type; other blocks are in messages of every role. */
const ROLE_OF: Readonly<Partial<Record<ContentBlock['type'], MessageParam['role']>>> = {
  tool_use: 'assistant',
  thinking: 'assistant',
  redacted_thinking: 'assistant',
  image: 'user',
  document: 'user',
  search_result: 'user',
  tool_result: 'user',
};

/** The messages of a chat request. */
export interface ChatMessages {
  readonly messages: RequestMessage[];
  /** Where the messages are in the request of Anthropic's API. */
  readonly origins: Blame;
  /** The files in them, whose places are empty. */
  readonly files: readonly FilePart[];
}

/** A message of a chat request, with the paths of its parts in the request, by their paths in the message. */
interface LocatedMessage {
  readonly message: RequestMessage;
  readonly paths: Blame;
}

/**
 * Returns the messages of a request as those of a chat request. The system prompt is the first one, and each result of
 * a tool is one of its own. Throws `InvalidParameter` for a block in a message of the wrong role and for a result that
 * answers no call, and like `documentBlocks`.
 */
export function chatMessages(
  system: string | readonly TextBlock[] | null | undefined,
  messages: readonly MessageParam[],
): ChatMessages {
  const toolNames = new Map<string, string>();
  const files: FilePart[] = [];
  const dialog = messages.flatMap((message, n): LocatedMessage[] => {
    const path = `messages[${n}].content`;
    const { role, content } = message;
    const blocks: readonly ContentBlock[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    for (const [at, { type }] of blocks.entries())
      if ((ROLE_OF[type] ?? role) !== role)
        throw invalidValue(`${path}[${at}].type`, `a message of the ${role} has no ${type}`);
    const read = blocks.flatMap((block, at) => readBlocks(block, `${path}[${at}]`, files));
    const results = blocks.flatMap((block, at) =>
      block.type === 'tool_result' ? [toolResult(block, toolNames, `${path}[${at}]`, files)] : [],
    );
    const located = [...results.flatMap(({ images }) => images), ...read].map((one) => partOf(one, files));
    const parts = located.map(({ part }) => part);
    const paths = { '': `messages[${n}]`, ...partPaths(located) };
    if (role === 'assistant') {
      const calls = blocks.flatMap((block, at) => (block.type === 'tool_use' ? [`${path}[${at}]`] : []));
      return [
        {
          message: assistantMessage(blocks, parts, toolNames),
          paths: { ...paths, reasoning_content: path, ...Object.fromEntries(calls.flatMap(callPaths)) },
        },
      ];
    }
    const hasParts = parts.length > 0 || results.length === 0;
    return [
      ...results.map(({ located: result }) => result),
      ...(hasParts ? [{ message: { role, content: parts }, paths }] : []),
    ];
  });
  const isInstructed = system != null && system.length > 0;
  const all: readonly LocatedMessage[] = isInstructed
    ? [
        { message: { role: 'system', content: asContent(system) }, paths: { '': 'system', content: 'system' } },
        ...dialog,
      ]
    : dialog;
  return {
    files,
    messages: all.map(({ message }) => message),
    origins: Object.fromEntries(
      all.flatMap(({ paths }, n) =>
        Object.entries(paths).map(([ours, given]) => [`messages[${n}]${ours && `.${ours}`}`, given]),
      ),
    ),
  };
}

/** Returns where the parts of a call are in a block at `path`. */
const callPaths = (path: string, n: number): [string, string][] => [
  [`tool_calls[${n}]`, path],
  [`tool_calls[${n}].function`, path],
  [`tool_calls[${n}].function.arguments`, `${path}.input`],
];

function assistantMessage(
  blocks: readonly ContentBlock[],
  texts: readonly MessagePart[],
  toolNames: Map<string, string>,
): RequestMessage {
  const calls = blocks.filter((block) => block.type === 'tool_use');
  const thinking = blocks.filter((block) => block.type === 'thinking');
  for (const { id, name } of calls) toolNames.set(id, name);
  return {
    role: 'assistant',
    content: [...texts],
    ...(thinking.length > 0 && { reasoning_content: thinking.map((block) => block.thinking).join('\n') }),
    ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
  };
}

const toolCall = ({ id, name, input }: BlockOf<'tool_use'>): NonNullable<RequestMessage['tool_calls']>[number] => ({
  id,
  type: 'function',
  function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}) },
});

/** A result of a tool, and its images for the message of the user, because not all templates write them here. */
interface ToolResult {
  readonly located: LocatedMessage;
  readonly images: readonly LocatedBlock[];
}

function toolResult(
  { tool_use_id: id, content: given }: BlockOf<'tool_result'>,
  toolNames: ReadonlyMap<string, string>,
  path: string,
  files: FilePart[],
): ToolResult {
  const content = given ?? '';
  const name = toolNames.get(id);
  if (name === undefined) throw invalidValue(`${path}.tool_use_id`, 'no tool_use before it has this id');
  const read =
    typeof content === 'string'
      ? [{ block: { type: 'text' as const, text: content }, path: `${path}.content` }]
      : content.flatMap((block, at) => readBlocks(block, `${path}.content[${at}]`, files));
  const texts = read.flatMap(({ block }) => (block.type === 'text' ? [block] : []));
  return {
    located: {
      message: { role: 'tool', content: texts, tool_call_id: id, name },
      paths: { '': path, tool_call_id: `${path}.tool_use_id` },
    },
    images: read.filter(({ block }) => block.type === 'image'),
  };
}

const asContent = (content: string | readonly TextBlock[]): string | TextBlock[] =>
  typeof content === 'string' ? content : [...content];

type MessagePart = Exclude<RequestMessage['content'], string | null | undefined>[number];

/** A part of a message, and where it is in the request. */
interface LocatedPart {
  readonly part: MessagePart;
  readonly path: string;
  /** The key of the block that has the image. */
  readonly url?: string;
}

/**
 * Returns the texts and images of a block that the model reads where it is; none for other blocks. Adds its files to
 * `files`. Throws like `documentBlocks`.
 */
function readBlocks(block: ContentBlock, path: string, files: FilePart[]): LocatedBlock[] {
  if (block.type === 'text' || block.type === 'image') return [{ block, path }];
  if (block.type === 'document') return documentBlocks(block, path, files);
  return block.type === 'search_result' ? searchResultBlocks(block, path) : [];
}

function partOf({ block, path }: LocatedBlock, files: FilePart[]): LocatedPart {
  return block.type === 'text' ? { part: block, path } : imagePart(block, path, files);
}

/** Returns an image. One of a stored file is added to `files`, and its address is empty until the file is read. */
function imagePart({ source }: ImageBlock, path: string, files: FilePart[]): LocatedPart {
  if (source.type === 'file') {
    const image = { url: '' };
    const put: FilePart['put'] = (content) => {
      if ('image' in content) image.url = content.image;
    };
    const param = `${path}.source.file_id`;
    files.push({ part: path, param, file: { id: source.file_id }, kind: 'image', put });
    return { part: { type: 'image_url', image_url: image }, path, url: 'source.file_id' };
  }
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  const key = source.type === 'url' ? 'source.url' : 'source.data';
  return { part: { type: 'image_url', image_url: { url } }, path, url: key };
}

/** Returns where parts are in the request, by their paths in a message. */
const partPaths = (parts: readonly LocatedPart[]): Blame =>
  Object.fromEntries(
    parts.flatMap(({ path, url }, at) => [
      [`content[${at}]`, path],
      ...(url === undefined ? [] : [[`content[${at}].image_url.url`, `${path}.${url}`]]),
    ]),
  );
