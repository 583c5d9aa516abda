import { invalidValue, unsupported } from '../fields.ts';
import { prefixedId } from '../text/values.ts';
import { type InputItem, type InputPart, isOwnItem, type OwnItem } from './input-items.ts';
import type { Item, Part } from './items.ts';

/** Prefixes of ids of items by their type, as in OpenAI's API. */
export const ID_PREFIXES = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  custom_tool_call: 'ctc_',
  custom_tool_call_output: 'ctco_',
  file_search_call: 'fs_',
} as const satisfies Readonly<Record<Item['type'], string>>;

/** Finds an item by its id, among those that the user has stored. */
export type FindItem = (id: string) => Promise<Item | undefined>;

/** The items of an input, and the index of each in the list of the request. */
export interface ReadInput {
  readonly input: readonly Item[];
  readonly indexes: readonly number[];
}

/**
 * Returns the items of an input, with ids, with stored items in the place of references, and without those of hosted
 * tools. Throws errors that name the parameter for contents that no model takes, for references to nothing, and for ids
 * that occur twice.
 */
export async function readInput(input: string | readonly InputItem[], find: FindItem): Promise<ReadInput> {
  const given: readonly InputItem[] =
    typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  const items: Item[] = [];
  const indexes: number[] = [];
  const ids = new Set<string>();
  for (const [index, one] of given.entries()) {
    if (!isOwnItem(one)) continue;
    const item = await itemOf(one, `input[${index}]`, find);
    if (ids.has(item.id)) throw invalidValue(`input[${index}].id`, `another item of the input has the id ${item.id}`);
    ids.add(item.id);
    items.push(item);
    indexes.push(index);
  }
  return { input: items, indexes };
}

async function itemOf(item: OwnItem, param: string, find: FindItem): Promise<Item> {
  if (item.type === 'item_reference') {
    const found = await find(item.id);
    if (!found) throw invalidValue(`${param}.id`, `there is no stored item ${item.id}`);
    return found;
  }
  const id = item.id ?? prefixedId(ID_PREFIXES[item.type]);
  if (item.type === 'file_search_call') return searchOf(item, id);
  const head = { id, status: item.status ?? ('completed' as const) };
  switch (item.type) {
    case 'function_call': {
      const { call_id, name, arguments: text } = item;
      return { type: item.type, ...head, call_id, name, arguments: text };
    }
    case 'custom_tool_call': {
      const { call_id, name, input } = item;
      return { type: item.type, ...head, call_id, name, input };
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id, output } = item;
      return {
        type: item.type,
        ...head,
        call_id,
        output: typeof output === 'string' ? output : partsOf(output, `${param}.output`),
      };
    }
    case 'reasoning':
      return { type: item.type, ...head, summary: item.summary ?? [], content: item.content ?? [] };
    case 'message': {
      const { role, content } = item;
      const type = role === 'assistant' ? 'output_text' : 'input_text';
      const parts = typeof content === 'string' ? [{ type, text: content } as const] : content;
      return { type: item.type, ...head, role, content: partsOf(parts, `${param}.content`) };
    }
  }
}

function searchOf(
  { type, status, queries, results }: Extract<OwnItem, { readonly type: 'file_search_call' }>,
  id: string,
): Item {
  const found = results?.map(({ file_id, filename, score, attributes, text }) => ({
    file_id,
    filename,
    score: score ?? 0,
    attributes: attributes ?? {},
    text,
  }));
  return { type, id, status: status ?? 'completed', queries, results: found ?? null };
}

function partsOf(parts: readonly InputPart[], param: string): Part[] {
  return parts.map((part, index) => {
    if (part.type === 'input_text' || part.type === 'refusal' || part.type === 'input_audio') return part;
    if (part.type === 'input_image') return imagePart(part, `${param}[${index}]`);
    if (part.type === 'output_text') return { ...part, annotations: [], logprobs: [] };
    throw unsupported(`${param}[${index}].type`, `the model takes no content of the type ${part.type}`);
  });
}

function imagePart(
  { type, image_url: url, file_id: file, detail }: Extract<InputPart, { readonly type: 'input_image' }>,
  param: string,
): Part {
  if (file != null)
    throw unsupported(`${param}.file_id`, 'stored files are opened only for requests that wait; give an image_url');
  if (url == null) throw invalidValue(`${param}.image_url`, 'it is required');
  return { type, image_url: url, detail: detail ?? 'auto' };
}
