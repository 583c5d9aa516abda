import * as z from 'zod';
import { MAX_NAME } from '../../../../base/schemas/index.ts';
import { rankingOptions, searchOptions } from '../../vector-stores/search-fields.ts';

const MAX_STORES = 10;
/** Most searches of a response. */
export const MAX_SEARCHES = 8;

/** The tool with which the model searches vector stores. The server answers its calls. */
export const FileSearchTool = z.object({
  type: z.literal('file_search'),
  vector_store_ids: z.array(z.string().max(MAX_NAME)).min(1).max(MAX_STORES),
  ...searchOptions,
  ranking_options: z.nullish(z.strictObject(rankingOptions)),
});
export type FileSearchTool = z.output<typeof FileSearchTool>;

/** The name by which the model knows the tool. */
export const FILE_SEARCH = 'file_search';

const Arguments = z.strictObject({
  queries: z.array(z.string().min(1).max(256)).min(1).max(4).describe('What to look for. Each text is a question.'),
});
const { $schema: _, ...PARAMETERS } = z.toJSONSchema(Arguments);

/** The tool as a function of a chat completion. */
export const SEARCH_FUNCTION = {
  type: 'function' as const,
  function: {
    name: FILE_SEARCH,
    description: 'Searches the files of the user. Returns the parts that fit the queries best.',
    parameters: PARAMETERS as Record<string, unknown>,
  },
};

/** Returns the queries in the arguments of a call; none for arguments that are wrong. */
export function queriesOf(text: string): readonly string[] {
  try {
    return Arguments.safeParse(JSON.parse(text)).data?.queries ?? [];
  } catch {
    return [];
  }
}

/** Returns the arguments of a call with these queries. */
export const argumentsOf = (queries: readonly string[]): string => JSON.stringify({ queries });

/** Returns the file search among the tools of a request, and its index. */
export function searchToolIn(
  tools: readonly (FileSearchTool | { readonly type: unknown })[],
): { readonly tool: FileSearchTool; readonly index: number } | undefined {
  const index = tools.findIndex(isFileSearch);
  const tool = tools[index];
  return tool && isFileSearch(tool) ? { tool, index } : undefined;
}

const isFileSearch = (tool: FileSearchTool | { readonly type: unknown }): tool is FileSearchTool =>
  tool.type === FILE_SEARCH;
