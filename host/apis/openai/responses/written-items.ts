import type { TokenLogprob } from '../../../base/schemas/index.ts';
import { prefixedId } from '../text/values.ts';
import type { FileCitation, ItemStatus, OutputItem, OutputPart } from './items.ts';
import { ID_PREFIXES } from './read-input.ts';
import type { ResponseEvent } from './response-event.ts';

/** An event without its position among the events. */
export type Unnumbered<Event = ResponseEvent> = Event extends unknown ? Omit<Event, 'sequence_number'> : never;

/** An item of an answer while the model writes it. */
export interface WrittenItem {
  /** The item as it is now. */
  readonly item: OutputItem;
  /** Returns the events that begin it. */
  begin(): Unnumbered[];
  /** Returns the events that end it. */
  end(status: ItemStatus): Unnumbered[];
}

/** A message or a reasoning, each of which has one part. */
export class WrittenText implements WrittenItem {
  readonly #id: string;
  readonly #kind: 'message' | 'reasoning';
  readonly #index: number;
  readonly #logprobs: TokenLogprob[] = [];
  readonly #citations: readonly FileCitation[];
  #text = '';
  #status: ItemStatus = 'in_progress';

  /** `index` is its position in the output. A message has the citations when it has ended. */
  constructor(kind: 'message' | 'reasoning', index: number, citations: readonly FileCitation[] = []) {
    this.#id = prefixedId(ID_PREFIXES[kind]);
    this.#kind = kind;
    this.#index = index;
    this.#citations = kind === 'message' ? citations : [];
  }

  get kind(): 'message' | 'reasoning' {
    return this.#kind;
  }

  get item(): OutputItem {
    return this.#itemOf([this.#part]);
  }

  begin(): Unnumbered[] {
    return [
      { type: 'response.output_item.added', output_index: this.#index, item: this.#itemOf([]) },
      { type: 'response.content_part.added', ...this.#position, part: this.#part },
    ];
  }

  /** Adds a piece of the text and the tokens that it is made of. Returns the event. */
  add(delta: string, logprobs: readonly TokenLogprob[] = []): Unnumbered {
    this.#text += delta;
    if (this.#kind === 'reasoning') return { type: 'response.reasoning_text.delta', ...this.#position, delta };
    this.#logprobs.push(...logprobs);
    return { type: 'response.output_text.delta', ...this.#position, delta, logprobs: [...logprobs] };
  }

  end(status: ItemStatus): Unnumbered[] {
    this.#status = status;
    const text = this.#text;
    return [
      ...this.#citations.map((annotation, annotation_index) => ({
        type: 'response.output_text.annotation.added' as const,
        ...this.#position,
        annotation_index,
        annotation,
      })),
      this.#kind === 'reasoning'
        ? { type: 'response.reasoning_text.done', ...this.#position, text }
        : { type: 'response.output_text.done', ...this.#position, text, logprobs: this.#logprobs },
      { type: 'response.content_part.done', ...this.#position, part: this.#part },
      { type: 'response.output_item.done', output_index: this.#index, item: this.item },
    ];
  }

  get #position() {
    return { item_id: this.#id, output_index: this.#index, content_index: 0 };
  }

  get #part(): OutputPart {
    const text = this.#text;
    if (this.#kind === 'reasoning') return { type: 'reasoning_text', text };
    return {
      type: 'output_text',
      text,
      annotations: this.#status === 'in_progress' ? [] : [...this.#citations],
      logprobs: [...this.#logprobs],
    };
  }

  #itemOf(parts: readonly OutputPart[]): OutputItem {
    const head = { id: this.#id, status: this.#status };
    return this.#kind === 'reasoning'
      ? { type: 'reasoning', ...head, summary: [], content: parts.filter((part) => part.type === 'reasoning_text') }
      : { type: 'message', ...head, role: 'assistant', content: parts.filter((part) => part.type === 'output_text') };
  }
}
