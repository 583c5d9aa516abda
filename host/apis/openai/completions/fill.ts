import { invalidValue, unsupported } from '../fields.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { ResolvedModel } from '../models/model-names.ts';
import type { RunContext } from '../run-context.ts';
import type { TokenizeOutput } from '../tokens/token-fields.ts';
import type { OnePrompt } from './completion-call.ts';
import type { CompletionRequest } from './completion-fields.ts';

/** The texts of the control tokens with which a model fills a gap: before the prompt, the suffix and the answer. */
type Marks = readonly [prefix: string, suffix: string, middle: string];

/** The marks of families of models: Qwen, Granite, StarCoder, DeepSeek and GLM. */
const FAMILIES: readonly Marks[] = [
  ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'],
  ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'],
  ['<fim-prefix>', '<fim-suffix>', '<fim-middle>'],
  ['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'],
  ['<|code_prefix|>', '<|code_suffix|>', '<|code_middle|>'],
];

/** How the prompts of a request become prompts for an answer that fills the gap before `suffix`. */
export interface Fill {
  /** Returns the prompt that the model gets. */
  of(prompt: OnePrompt): OnePrompt;
}

const UNKNOWN = 'the model has no tokens for it, so the text goes on from its end';

/**
 * Returns how the suffix of a request takes effect; undefined if it has none. Throws `UnsupportedParameter` for a
 * suffix without effect with `strict`, and `InvalidParameter` for texts that would forge the control tokens.
 */
export async function fillOf(
  models: ModelDirectory,
  { model }: ResolvedModel,
  request: CompletionRequest,
  strict: boolean,
  context: RunContext,
): Promise<Fill | undefined> {
  const { suffix } = request;
  if (!suffix) return undefined;
  const tokensOf = async (text: string): Promise<TokenizeOutput> =>
    (await models.call(model.name, 'tokenize', { text, add_special_tokens: false }, context)) as TokenizeOutput;
  const found = model.methods.has('tokenize') ? await marksOf(tokensOf) : undefined;
  if (!found) {
    if (strict) throw unsupported('suffix', UNKNOWN);
    return undefined;
  }
  if (request.echo === true && request.logprobs != null)
    throw invalidValue('suffix', 'it cannot be used together with echo and logprobs');
  if (request.overflow === 'truncate_middle')
    throw invalidValue('overflow', 'a prompt with a suffix cannot be shortened in its middle');
  const { marks, ids } = found;
  refuseMarks('suffix', suffix, marks);
  for (const prompt of [request.prompt].flat()) if (typeof prompt === 'string') refuseMarks('prompt', prompt, marks);
  const { tokens } = await tokensOf(suffix);
  return {
    of: (prompt) =>
      typeof prompt === 'string'
        ? `${marks[0]}${prompt}${marks[1]}${suffix}${marks[2]}`
        : [ids[0], ...prompt, ids[1], ...tokens, ids[2]],
  };
}

interface FoundMarks {
  readonly marks: Marks;
  readonly ids: readonly [prefix: number, suffix: number, middle: number];
}

/** Returns the marks of which each is one token of the model. */
async function marksOf(tokensOf: (text: string) => Promise<TokenizeOutput>): Promise<FoundMarks | undefined> {
  for (const marks of FAMILIES) {
    const { tokens, texts } = await tokensOf(marks.join(''));
    const [prefix, suffix, middle, ...more] = tokens;
    if (prefix === undefined || suffix === undefined || middle === undefined || more.length > 0) continue;
    if (marks.every((mark, n) => texts[n] === mark)) return { marks, ids: [prefix, suffix, middle] };
  }
  return undefined;
}

function refuseMarks(param: string, text: string, marks: Marks): void {
  const mark = marks.find((one) => text.includes(one));
  if (mark !== undefined) throw invalidValue(param, `it has ${mark}, a control token that the server sets itself`);
}
