import type { LlamaArgumentRules } from '../../../native/lib/index.ts';
import { AanaError } from '../../core/errors.ts';
import { callRules, UnusableStructure } from '../../structured-output/index.ts';

/** A function whose `parameters` are JSON. */
export interface DescribedTool {
  readonly name: string;
  readonly parameters: string;
}

const MOST_ENTRIES = 32;
const MOST_KEY_CHARS = 256 * 1024;

/** Rules by tools, the last used ones at the end. The requests of an application have few different lists of tools. */
const cache = new Map<string, LlamaArgumentRules>();

/**
 * Returns the rules for the arguments of tools. Throws `InvalidPrompt`, which names the tool and the place, for a tool
 * among `bound` whose parameters no grammar can express.
 */
export function toolRules(tools: readonly DescribedTool[], bound: ReadonlySet<string>): LlamaArgumentRules {
  const key = JSON.stringify(tools.map(({ name, parameters }) => [name, parameters, bound.has(name)]));
  const rules = cache.get(key) ?? made(tools, bound);
  if (key.length > MOST_KEY_CHARS) return rules;
  cache.delete(key);
  cache.set(key, rules);
  if (cache.size > MOST_ENTRIES) cache.delete(cache.keys().next().value!);
  return rules;
}

function made(tools: readonly DescribedTool[], bound: ReadonlySet<string>): LlamaArgumentRules {
  try {
    const { rules, functions } = callRules(
      tools.map(({ name, parameters }) => ({
        name,
        parameters: JSON.parse(parameters) as unknown,
        isBound: bound.has(name),
      })),
    );
    return {
      text: rules,
      tools: tools.map(({ name }) => {
        const { outline, ...names } = functions[name]!;
        return { ...names, outline: JSON.stringify(outline) };
      }),
    };
  } catch (error) {
    if (!(error instanceof UnusableStructure)) throw error;
    const advice = 'change them, or leave the call to the model with tool_choice "auto" and without strict';
    throw new AanaError('InvalidPrompt', 'bad-request', `${error.message}; ${advice}`);
  }
}
