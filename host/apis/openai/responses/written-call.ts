import type { ToolCallDelta } from '../../../base/schemas/index.ts';
import { CustomInput } from '../chat/custom-calls.ts';
import { prefixedId } from '../text/values.ts';
import type { ItemStatus, OutputItem } from './items.ts';
import { ID_PREFIXES } from './read-input.ts';
import type { Unnumbered, WrittenItem } from './written-items.ts';

/** A call of a function or of a custom tool. */
export class WrittenCall implements WrittenItem {
  /** Its position among the calls of the answer. */
  readonly callIndex: number;
  readonly #id: string;
  readonly #index: number;
  readonly #callId: string;
  readonly #name: string;
  /** Reads the input of a custom tool. */
  readonly #input: CustomInput | undefined;
  /** The arguments of the function, or the input of the custom tool. */
  #text = '';
  #status: ItemStatus = 'in_progress';

  /** `index` is its position in the output. */
  constructor({ index: callIndex, id, function: { name = '' } }: ToolCallDelta, index: number, isCustom: boolean) {
    this.callIndex = callIndex;
    this.#id = prefixedId(ID_PREFIXES[isCustom ? 'custom_tool_call' : 'function_call']);
    this.#index = index;
    this.#callId = id ?? prefixedId('call_');
    this.#name = name;
    this.#input = isCustom ? new CustomInput() : undefined;
  }

  get item(): OutputItem {
    const head = { id: this.#id, status: this.#status, call_id: this.#callId, name: this.#name };
    return this.#input
      ? { type: 'custom_tool_call', ...head, input: this.#text }
      : { type: 'function_call', ...head, arguments: this.#text };
  }

  begin(): Unnumbered[] {
    return [{ type: 'response.output_item.added', output_index: this.#index, item: this.item }];
  }

  /** Adds a piece of the arguments. Returns the event, or nothing if there is no new text. */
  add(piece: string): Unnumbered[] {
    const delta = this.#input?.read(piece) ?? piece;
    if (delta === '') return [];
    this.#text += delta;
    const kind = this.#input ? 'custom_tool_call_input' : 'function_call_arguments';
    return [{ type: `response.${kind}.delta`, ...this.#position, delta }];
  }

  end(status: ItemStatus): Unnumbered[] {
    this.#status = status;
    return [
      this.#input
        ? { type: 'response.custom_tool_call_input.done', ...this.#position, input: this.#text }
        : { type: 'response.function_call_arguments.done', ...this.#position, name: this.#name, arguments: this.#text },
      { type: 'response.output_item.done', output_index: this.#index, item: this.item },
    ];
  }

  get #position() {
    return { item_id: this.#id, output_index: this.#index };
  }
}
