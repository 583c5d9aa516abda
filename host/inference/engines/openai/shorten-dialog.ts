import type { ImageChatDialog } from '../../../base/schemas/index.ts';

type Message = ImageChatDialog['messages'][number];
type Messages = readonly Message[];

/** Returns the number of tokens of a dialog of these messages. */
export type CountMessages = (messages: Message[]) => Promise<number>;

/** Messages that are dropped together. */
interface Range {
  readonly begin: number;
  readonly end: number;
}

const ELLIPSIS = '…';
/** A text is cut this close to the longest that fits, because each try asks the server. */
const CHARACTERS_OF_PRECISION = 8;

/**
 * Makes messages that have more than `most` tokens fit into them, in the same way as the deployment that computes the
 * model itself (native/src/core/llama/prompt/shortened_dialog.h). Returns undefined when the rest is still too long.
 */
export async function shorten(
  messages: Messages,
  most: number,
  count: CountMessages,
): Promise<{ readonly messages: Messages; readonly tokens: number } | undefined> {
  const ranges = droppable(messages);
  // The fewest ranges without which the rest fits, and its tokens. Each count asks the server.
  let [least, enough, tokens] = [1, ranges.length + 1, 0];
  while (least < enough) {
    const tried = Math.floor((least + enough) / 2);
    const counted = await count(without(messages, ranges.slice(0, tried)));
    if (counted > most) least = tried + 1;
    else [enough, tokens] = [tried, counted];
  }
  const rest = without(messages, ranges.slice(0, least));
  if (least <= ranges.length) return { messages: rest, tokens };
  tokens = await count(withTexts(rest, 0));
  if (tokens > most) return undefined;
  let fitting = 0;
  let tooMany = Math.max(0, ...rest.map((message) => textsOf(message).length));
  while (tooMany - fitting > CHARACTERS_OF_PRECISION) {
    const tried = fitting + Math.floor((tooMany - fitting) / 2);
    const counted = await count(withTexts(rest, tried));
    if (counted > most) tooMany = tried;
    else [fitting, tokens] = [tried, counted];
  }
  return { messages: withTexts(rest, fitting), tokens };
}

/**
 * Returns the ranges that may be dropped, in their order: turns, then the steps of the last turn behind its question.
 */
function droppable(messages: Messages): Range[] {
  const next = (from: number, role: string): number => {
    const found = messages.findIndex((message, at) => at >= from && message.role === role);
    return found < 0 ? messages.length : found;
  };
  const first = messages.findIndex(({ role }) => role !== 'system');
  const ranges: Range[] = [];
  let begin = first < 0 ? messages.length : first;
  while (begin < messages.length) {
    const end = next(begin + 1, 'user');
    if (end === messages.length) break;
    ranges.push({ begin, end });
    begin = end;
  }
  for (let step = next(begin + (messages[begin]?.role === 'user' ? 1 : 0), 'assistant'); step < messages.length;) {
    const end = next(step + 1, 'assistant');
    if (end === messages.length) break;
    ranges.push({ begin: step, end });
    step = end;
  }
  return ranges;
}

const without = (messages: Messages, ranges: readonly Range[]): Message[] =>
  messages.filter((_, at) => !ranges.some(({ begin, end }) => begin <= at && at < end));

function textsOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function withTexts(messages: Messages, length: number): Message[] {
  return messages.map((message) => {
    const text = textsOf(message);
    return text.length <= length ? message : { ...message, content: withoutMiddle(text, length) };
  });
}

/** Returns the text without its middle, about `length` long. Characters stay whole. */
function withoutMiddle(text: string, length: number): string {
  const isSecondHalf = (at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  let head = Math.floor(length / 2);
  let tail = text.length - (length - head);
  if (head > 0 && isSecondHalf(head)) head -= 1;
  if (isSecondHalf(tail)) tail += 1;
  return `${text.slice(0, head)}${ELLIPSIS}${text.slice(tail)}`;
}
