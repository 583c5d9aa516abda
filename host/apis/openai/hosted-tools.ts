import type { Blame } from './blame.ts';

/** Tools that only the servers of others run, such as a search of the web. */
export interface HostedTools {
  /** Returns the type of a checked tool that is such a tool; undefined for others. */
  readonly typeOf: (tool: { readonly type?: string | null | undefined }) => string | undefined;
  /** Why they cannot be used, for people. */
  readonly why: string;
}

/** What happens to a request with hosted tools: it is refused, or the model does not see them. */
export type HostedToolsPolicy = 'refuse' | 'drop';

/** A tool that the model sees, and its index in the list of the request. */
export interface IndexedTool<Tool> {
  readonly tool: Tool;
  readonly index: number;
}

/** Returns what `toolOf` makes of the tools of a request; it makes nothing of hosted tools. */
export const indexedTools = <Given, Tool>(
  given: readonly Given[],
  toolOf: (tool: Given) => Tool | undefined,
): IndexedTool<Tool>[] =>
  given.flatMap((one, index) => {
    const tool = toolOf(one);
    return tool === undefined ? [] : [{ tool, index }];
  });

/**
 * Returns where the tools of a chat request are in the request that they were made of. `members` tells the same of
 * members of a tool.
 */
export const toolPaths = (tools: readonly IndexedTool<unknown>[], members: Readonly<Record<string, string>>): Blame =>
  Object.fromEntries(
    tools.flatMap(({ index }, n) => [
      [`tools[${n}]`, `tools[${index}]`],
      ...Object.entries(members).map(([key, given]) => [`tools[${n}].${key}`, `tools[${index}]${given}`]),
    ]),
  );
