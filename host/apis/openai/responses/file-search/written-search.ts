import type { ToolCallDelta } from '../../../../base/schemas/index.ts';
import { prefixedId } from '../../text/values.ts';
import type { FoundText } from '../../vector-stores/search-stores.ts';
import type { FileSearchItem } from '../items.ts';
import { ID_PREFIXES } from '../read-input.ts';
import type { Unnumbered, WrittenItem } from '../written-items.ts';
import { queriesOf } from './search-tool.ts';

/** A search of vector stores: a call of the model, which waits until the server has answered it. */
export class WrittenSearch implements WrittenItem {
  /** Its position among the calls of the answer. */
  readonly callIndex: number;
  readonly #id = prefixedId(ID_PREFIXES.file_search_call);
  readonly #index: number;
  #arguments = '';
  #status: FileSearchItem['status'] = 'in_progress';
  #results: readonly FoundText[] = [];
  #isShown = false;

  /** `index` is its position in the output. */
  constructor({ index: callIndex }: ToolCallDelta, index: number) {
    this.callIndex = callIndex;
    this.#index = index;
  }

  /** The queries in the arguments. None while the model writes them, and if they are wrong. */
  get queries(): readonly string[] {
    return queriesOf(this.#arguments);
  }

  /** Whether the search has neither been made nor failed. */
  get isWaiting(): boolean {
    return this.#status === 'in_progress' || this.#status === 'searching';
  }

  get item(): FileSearchItem {
    return this.#itemOf(this.#isShown);
  }

  /** The item with what the model is told, which a client may not see. */
  get told(): FileSearchItem {
    return this.#itemOf(true);
  }

  begin(): Unnumbered[] {
    return [
      { type: 'response.output_item.added', output_index: this.#index, item: this.item },
      { type: 'response.file_search_call.in_progress', ...this.#position },
    ];
  }

  /** Adds a piece of the arguments, which no event tells. */
  add(piece: string): Unnumbered[] {
    this.#arguments += piece;
    return [];
  }

  /** The model has written the call. The search goes on, except in an answer that is incomplete. */
  end(status: 'in_progress' | 'completed' | 'incomplete'): Unnumbered[] {
    return status === 'incomplete' ? this.#done('incomplete') : [];
  }

  search(): Unnumbered[] {
    this.#status = 'searching';
    return [{ type: 'response.file_search_call.searching', ...this.#position }];
  }

  /** `isShown` says whether clients see the results. */
  find(results: readonly FoundText[], isShown: boolean): Unnumbered[] {
    this.#results = results;
    this.#isShown = isShown;
    return [{ type: 'response.file_search_call.completed', ...this.#position }, ...this.#done('completed')];
  }

  fail(): Unnumbered[] {
    return this.#done('failed');
  }

  #done(status: FileSearchItem['status']): Unnumbered[] {
    this.#status = status;
    return [{ type: 'response.output_item.done', output_index: this.#index, item: this.item }];
  }

  get #position() {
    return { item_id: this.#id, output_index: this.#index };
  }

  #itemOf(hasResults: boolean): FileSearchItem {
    return {
      type: 'file_search_call',
      id: this.#id,
      status: this.#status,
      queries: [...this.queries],
      results: hasResults ? this.#results.map((result) => ({ ...result })) : null,
    };
  }
}
