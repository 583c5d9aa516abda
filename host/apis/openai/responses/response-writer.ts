import type {
  ChatOutputWithDetails,
  GenerationDetails,
  TextChunk,
  ToolCallDelta,
} from '../../../base/schemas/index.ts';
import { located, openAiError } from '../errors.ts';
import { nowS } from '../text/values.ts';
import type { FoundText } from '../vector-stores/search-stores.ts';
import { WrittenSearch } from './file-search/written-search.ts';
import { FILE_SEARCH } from './file-search/search-tool.ts';
import type { FileCitation, Item, ItemStatus } from './items.ts';
import { type ModelResponse, responseUsageOf, sumOfUsages } from './response-answer.ts';
import type { ResponseEvent } from './response-event.ts';
import { WrittenCall } from './written-call.ts';
import { type Unnumbered, type WrittenItem, WrittenText } from './written-items.ts';

/** Why a response is not complete, by the reason for which the model ended. */
const INCOMPLETE = { length: 'max_output_tokens', content_filter: 'content_filter' } as const;

const incompleteReason = (details: GenerationDetails | undefined) =>
  INCOMPLETE[details?.finish_reason as keyof typeof INCOMPLETE] ?? null;

/** Whether a limit has ended what the model writes. */
export const isIncomplete = (details: GenerationDetails | undefined): boolean => incompleteReason(details) !== null;

/** Error codes of responses by the types of errors of OpenAI's API. The type allows no others. */
const ERROR_CODES: Readonly<Record<string, string>> = {
  rate_limit_error: 'rate_limit_exceeded',
  invalid_request_error: 'invalid_prompt',
};

/**
 * The code of a prompt that is too long, by which agents know that they must compact the dialog. The type does not have
 * it.
 */
const TOO_LONG = 'context_length_exceeded';

export interface WriterOptions {
  /** The number of the first event. Default: 0. */
  readonly firstNumber?: number;
  /** Whether there was an event that the response is created. Default: false. */
  readonly isCreated?: boolean;
}

/** Makes the items of a response, and its events, of the values of `chat_stream`. */
export class ResponseWriter {
  readonly #items: WrittenItem[] = [];
  #response: ModelResponse;
  #eventCount: number;
  /** The first events, until they are made. */
  #first: Unnumbered[];
  /** The last item if it has not ended. */
  #open: WrittenItem | undefined;
  /** The number of items before those of this turn of the model. */
  #turnStart = 0;
  /** What the turns that have ended took. */
  #usage: ModelResponse['usage'] = null;
  readonly #citations = new Map<string, FileCitation>();

  /** `response` is the response before its answer has begun. */
  constructor(response: ModelResponse, { firstNumber = 0, isCreated = false }: WriterOptions = {}) {
    this.#response = response;
    this.#eventCount = firstNumber;
    this.#first = [
      ...(isCreated ? [] : [{ type: 'response.created', response } as const]),
      { type: 'response.in_progress', response },
    ];
  }

  /** The response as it is after the events that were made. */
  get response(): ModelResponse {
    return this.#response;
  }

  /** Returns the events that the response has begun; none if they have been returned before, also with other events. */
  begin(): ResponseEvent[] {
    const first = this.#first;
    this.#first = [];
    return this.#numbered(first);
  }

  /** Returns the events of one value. */
  of({ text, reasoning_content: reasoning, tool_calls: calls, logprobs }: TextChunk): ResponseEvent[] {
    const events: Unnumbered[] = [];
    if (reasoning) events.push(...this.#addText('reasoning', reasoning));
    const isMessage = this.#open instanceof WrittenText && this.#open.kind === 'message';
    if (text !== '' || (isMessage && logprobs?.length)) events.push(...this.#addText('message', text, logprobs));
    for (const call of calls ?? []) events.push(...this.#addCall(call));
    return [...this.begin(), ...this.#numbered(events)];
  }

  /** Whether the answer has searches that the server must answer. */
  get isWaiting(): boolean {
    return this.#searches.some((item) => item.isWaiting);
  }

  /** The items, with the results of searches. */
  get told(): Item[] {
    return this.#items.map((item) => (item instanceof WrittenSearch ? item.told : item.item));
  }

  /** Tokens of the turns that have ended. */
  get outputTokens(): number {
    return this.#usage?.output_tokens ?? 0;
  }

  /** Ends a turn of the model, which does not end the answer. Returns its items. */
  endTurn(details: GenerationDetails | undefined): {
    readonly events: ResponseEvent[];
    readonly items: readonly WrittenItem[];
  } {
    const events = [...this.begin(), ...this.#numbered(this.#end('completed'))];
    const items = this.#items.slice(this.#turnStart);
    this.#turnStart = this.#items.length;
    this.#usage = usageWith(this.#usage, details);
    return { events, items };
  }

  /** Returns events of an item with their numbers. */
  tell(events: readonly Unnumbered[]): ResponseEvent[] {
    return this.#numbered(events);
  }

  /** The texts that follow cite the files of these results. */
  cite(results: readonly FoundText[]): void {
    for (const { file_id, filename } of results)
      if (!this.#citations.has(file_id))
        this.#citations.set(file_id, { type: 'file_citation', file_id, filename, index: this.#citations.size });
  }

  /** Returns the events that end the items. `details` tell how the answer was generated. */
  close(details: GenerationDetails | undefined): ResponseEvent[] {
    const begin = this.begin();
    const events = this.#items.length === 0 ? this.#start(new WrittenText('message', 0)) : [];
    const reason = incompleteReason(details);
    events.push(...this.#end(reason === null ? 'completed' : 'incomplete'), ...this.#endSearches());
    this.#usage = usageWith(this.#usage, details);
    this.#response = {
      ...this.#response,
      status: reason === null ? 'completed' : 'incomplete',
      completed_at: reason === null ? nowS() : null,
      incomplete_details: reason && { reason },
      output: this.#items.map(({ item }) => item),
      usage: this.#usage,
    };
    return [...begin, ...this.#numbered(events)];
  }

  /** Returns the last event, after {@link close}. */
  end(): ResponseEvent[] {
    const type = this.#response.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
    return this.#numbered([{ type, response: this.#response }]);
  }

  /** Returns the last events after an error. */
  fail(thrown: unknown): ResponseEvent[] {
    const { type, code, message, param } = openAiError(thrown).error;
    const begin = this.begin();
    const ends = [...this.#end('incomplete'), ...this.#endSearches()];
    this.#response = {
      ...this.#response,
      status: 'failed',
      completed_at: null,
      incomplete_details: null,
      error: {
        code: code === TOO_LONG ? code : (ERROR_CODES[type] ?? 'server_error'),
        message: located(message, param),
      },
      output: this.#items.map(({ item }) => item),
    };
    return [...begin, ...this.#numbered([...ends, { type: 'response.failed', response: this.#response }])];
  }

  #addText(kind: WrittenText['kind'], text: string, logprobs?: TextChunk['logprobs']): Unnumbered[] {
    const open = this.#open;
    if (open instanceof WrittenText && open.kind === kind) return [open.add(text, logprobs)];
    const item = new WrittenText(kind, this.#items.length, [...this.#citations.values()]);
    return [...this.#start(item), item.add(text, logprobs)];
  }

  #addCall(delta: ToolCallDelta): Unnumbered[] {
    const open = this.#open;
    const { name, arguments: text } = delta.function;
    const isOpen = open instanceof WrittenCall || open instanceof WrittenSearch;
    if (isOpen && open.callIndex === delta.index) return open.add(text);
    const { tools } = this.#response;
    if (name === FILE_SEARCH && tools.some((tool) => tool.type === FILE_SEARCH)) {
      const search = new WrittenSearch(delta, this.#items.length);
      return [...this.#start(search), ...search.add(text)];
    }
    const isCustom = tools.some((tool) => tool.type === 'custom' && tool.name === name);
    const item = new WrittenCall(delta, this.#items.length, isCustom);
    return [...this.#start(item), ...item.add(text)];
  }

  /** Begins an item, which ends the one before it. */
  #start(item: WrittenItem): Unnumbered[] {
    const ends = this.#end('completed');
    this.#items.push(item);
    this.#open = item;
    return [...ends, ...item.begin()];
  }

  #end(status: ItemStatus): Unnumbered[] {
    const ends = this.#open?.end(status) ?? [];
    this.#open = undefined;
    return ends;
  }

  get #searches(): readonly WrittenSearch[] {
    return this.#items.filter((item) => item instanceof WrittenSearch);
  }

  /** Ends searches that the server does not make. */
  #endSearches(): Unnumbered[] {
    return this.#searches.filter((item) => item.isWaiting).flatMap((item) => item.end('incomplete'));
  }

  #numbered(events: readonly Unnumbered[]): ResponseEvent[] {
    return events.map((event) => ({ ...event, sequence_number: this.#eventCount++ }));
  }
}

const usageWith = (usage: ModelResponse['usage'], details: GenerationDetails | undefined): ModelResponse['usage'] =>
  details ? sumOfUsages(usage, responseUsageOf(details)) : usage;

/** Returns the response whose whole answer is known. */
export function wholeResponse(response: ModelResponse, { message, details }: ChatOutputWithDetails): ModelResponse {
  const writer = new ResponseWriter(response);
  const { content: text, reasoning_content, tool_calls: calls } = message;
  writer.of({
    text,
    ...(reasoning_content !== undefined && { reasoning_content }),
    ...(calls && { tool_calls: calls.map((call, index) => ({ ...call, index })) }),
    ...(details?.logprobs && { logprobs: details.logprobs }),
  });
  writer.close(details);
  return writer.response;
}
