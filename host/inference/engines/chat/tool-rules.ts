import type { LlamaArgumentRules } from '../../../../native/lib/index.ts';
import { callRules, UnusableParameters } from '../../../base/structured-output/index.ts';
import { wrongArgument } from '../wrong-argument.ts';

/** A function whose `parameters` are JSON. */
export interface DescribedTool {
  readonly name: string;
  readonly parameters: string;
}

const MOST_ENTRIES = 32;
const MOST_KEY_CHARS = 256 * 1024;

/** The rules for the arguments of tools. */
export interface ToolRules {
  readonly rules: LlamaArgumentRules;
  /** Places in the arguments of the call: keywords of parameters that do not bind, as JSON pointers. */
  readonly unbound: readonly string[];
}

/**
 * Rules by cache key and tools, the last used ones at the end. The requests of a caller have few different lists of
 * tools.
 */
const cache = new Map<string, ToolRules>();

/**
 * Returns the rules for the arguments of tools. Only calls with the same `cacheKey` share what was made. Throws
 * `InvalidPrompt`, which names the tool and the place, for a tool among `bound` whose parameters no grammar can
 * express.
 */
export function toolRules(tools: readonly DescribedTool[], bound: ReadonlySet<string>, cacheKey: string): ToolRules {
  const key = JSON.stringify([cacheKey, ...tools.map(({ name, parameters }) => [name, parameters, bound.has(name)])]);
  const rules = cache.get(key) ?? made(tools, bound);
  if (key.length > MOST_KEY_CHARS) return rules;
  cache.delete(key);
  cache.set(key, rules);
  if (cache.size > MOST_ENTRIES) cache.delete(cache.keys().next().value!);
  return rules;
}

function made(tools: readonly DescribedTool[], bound: ReadonlySet<string>): ToolRules {
  try {
    const { rules, functions } = callRules(
      tools.map(({ name, parameters }) => ({
        name,
        parameters: JSON.parse(parameters) as unknown,
        isBound: bound.has(name),
      })),
    );
    return {
      rules: {
        text: rules,
        tools: tools.map(({ name }) => {
          const { all, values, texts, outline } = functions[name]!;
          return { all, values, texts, outline: JSON.stringify(outline) };
        }),
      },
      unbound: tools.flatMap(({ name }, index) =>
        functions[name]!.unbound.map((at) => `#/tools/${index}/function/parameters${at.slice(1)}`),
      ),
    };
  } catch (error) {
    if (!(error instanceof UnusableParameters)) throw error;
    const parameters = ['tools', error.index, 'function', 'parameters'];
    throw wrongArgument('InvalidPrompt', parameters, `${error.message}; change them, or leave out strict`);
  }
}
