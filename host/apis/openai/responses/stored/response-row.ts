import type { ModelResponse } from '../response-answer.ts';
import type { NewResponse, StoredItem } from '../../../../data/storage/index.ts';

/** An item of a response, which has an id. */
interface Identified {
  readonly id: string;
}

/** Returns the row of a response that was given these items. */
export function responseRow(response: ModelResponse, input: readonly Identified[]): NewResponse {
  return {
    id: response.id,
    previousId: response.previous_response_id,
    body: bodyOf(response),
    input: storedItems(input),
    output: storedItems(response.output),
  };
}

/** Returns a response without its output, as JSON. */
export function bodyOf(response: ModelResponse): string {
  return JSON.stringify({ ...response, output: undefined });
}

/** Returns items as they are stored. */
export function storedItems(items: readonly Identified[]): StoredItem[] {
  return items.map((item) => ({ id: item.id, json: JSON.stringify(item) }));
}
