import { type Blame, invalidValue, type RequestMessage, unsupported } from '../openai/index.ts';
import type { ContentBlock, MessageParam, TextBlock } from './content-blocks.ts';

type BlockOf<Type extends ContentBlock['type']> = Extract<ContentBlock, { readonly type: Type }>;

/** The role whose messages have blocks of a type; other blocks are in messages of every role. */
const ROLE_OF: Readonly<Partial<Record<ContentBlock['type'], MessageParam['role']>>> = {
  tool_use: 'assistant',
  thinking: 'assistant',
  redacted_thinking: 'assistant',
  image: 'user',
  tool_result: 'user',
};

/** The messages of a chat request. */
export interface ChatMessages {
  readonly messages: RequestMessage[];
  /** Where the messages are in the request of Anthropic's API. */
  readonly origins: Blame;
}

/** A message of a chat request, with the places of its parts in the request, by their paths in the message. */
interface Placed {
  readonly message: RequestMessage;
  readonly places: Blame;
}

/**
 * Returns the messages of a request as those of a chat request. The system prompt is the first one, and each result of
 * a tool is one of its own. Throws `InvalidParameter` for a block in a message of the wrong role and for a result that
 * answers no call, and `UnsupportedParameter` for a block that models cannot read.
 */
export function chatMessages(
  system: string | readonly TextBlock[] | null | undefined,
  messages: readonly MessageParam[],
): ChatMessages {
  const toolNames = new Map<string, string>();
  const dialog = messages.flatMap((message, n): Placed[] => {
    const path = `messages[${n}].content`;
    const { role, content } = message;
    const blocks: readonly ContentBlock[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    for (const [at, { type }] of blocks.entries())
      if ((ROLE_OF[type] ?? role) !== role)
        throw invalidValue(`${path}[${at}].type`, `a message of the ${role} has no ${type}`);
    const placed = blocks.flatMap((block, at) => partOf(block, `${path}[${at}]`));
    const parts = placed.map(({ part }) => part);
    const places = {
      '': `messages[${n}]`,
      ...Object.fromEntries(
        placed.flatMap(({ place, url }, at) => [
          [`content[${at}]`, place],
          ...(url === undefined ? [] : [[`content[${at}].image_url.url`, `${place}.${url}`]]),
        ]),
      ),
    };
    if (role === 'assistant') {
      const calls = blocks.flatMap((block, at) => (block.type === 'tool_use' ? [`${path}[${at}]`] : []));
      return [
        {
          message: assistantMessage(blocks, parts, toolNames),
          places: { ...places, reasoning_content: path, ...Object.fromEntries(calls.flatMap(callPlaces)) },
        },
      ];
    }
    const results = blocks.flatMap((block, at): Placed[] => {
      const place = `${path}[${at}]`;
      if (block.type !== 'tool_result') return [];
      return [
        { message: toolMessage(block, toolNames, place), places: { '': place, tool_call_id: `${place}.tool_use_id` } },
      ];
    });
    const hasText = parts.length > 0 || results.length === 0;
    return [...results, ...(hasText ? [{ message: { role, content: parts }, places }] : [])];
  });
  const isInstructed = system != null && system.length > 0;
  const all: readonly Placed[] = isInstructed
    ? [
        { message: { role: 'system', content: asContent(system) }, places: { '': 'system', content: 'system' } },
        ...dialog,
      ]
    : dialog;
  return {
    messages: all.map(({ message }) => message),
    origins: Object.fromEntries(
      all.flatMap(({ places }, n) =>
        Object.entries(places).map(([path, place]) => [`messages[${n}]${path && `.${path}`}`, place]),
      ),
    ),
  };
}

/** Returns where the parts of a call are in a block at `place`. */
const callPlaces = (place: string, n: number): [string, string][] => [
  [`tool_calls[${n}]`, place],
  [`tool_calls[${n}].function`, place],
  [`tool_calls[${n}].function.arguments`, `${place}.input`],
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
  function: { name, arguments: JSON.stringify(input) },
});

function toolMessage(
  { tool_use_id: id, content = '' }: BlockOf<'tool_result'>,
  toolNames: ReadonlyMap<string, string>,
  path: string,
): RequestMessage {
  const name = toolNames.get(id);
  if (name === undefined) throw invalidValue(`${path}.tool_use_id`, 'no tool_use before it has this id');
  const texts =
    typeof content === 'string' ? content : content.filter((block, at) => isText(block, `${path}.content[${at}]`));
  return { role: 'tool', content: asContent(texts), tool_call_id: id, name };
}

const asContent = (content: string | readonly TextBlock[]): string | TextBlock[] =>
  typeof content === 'string' ? content : [...content];

type MessagePart = Exclude<RequestMessage['content'], string | null | undefined>[number];

/** A part of a message, and where it is in the request. */
interface PlacedPart {
  readonly part: MessagePart;
  readonly place: string;
  /** The key of the block that has the image. */
  readonly url?: string;
}

/** Returns a block that is a text or an image as a part of a message, and no part for others. Throws like `isText`. */
function partOf(block: ContentBlock, place: string): PlacedPart[] {
  if (block.type !== 'image') return isText(block, place) ? [{ part: block, place }] : [];
  const { source } = block;
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  const key = source.type === 'url' ? 'source.url' : 'source.data';
  return [{ part: { type: 'image_url', image_url: { url } }, place, url: key }];
}

/** Whether a block is a text. Throws `UnsupportedParameter` for one that models cannot read. */
function isText(block: ContentBlock, path: string): block is TextBlock {
  if (block.type === 'image' || block.type === 'document' || block.type === 'search_result')
    throw unsupported(`${path}.type`, `the model takes no content of the type ${block.type}`);
  return block.type === 'text';
}
