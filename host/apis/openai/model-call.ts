import { flatMapped } from '../../base/core/async/async-values.ts';
import { pointerKeys } from '../../base/core/json/json-pointer.ts';
import { type GenerationDetails, isNotice, type TextChunk } from '../../base/schemas/index.ts';
import { type Blame, blamed, blaming, paramThrough } from './blame.ts';
import { paramOf } from './fields.ts';
import type { ModelDirectory } from '../../inference/deployments/index.ts';
import type { RunContext } from './run-context.ts';

/** A request as a call of a deployment. */
export interface ModelCall {
  /** The deployment. */
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Where the arguments are in the request of the client. The blame of the last translation comes first. */
  readonly blame: readonly Blame[];
}

/** Returns a call whose answer tells how it was made. */
export const withDetails = (call: ModelCall): ModelCall => ({ ...call, args: { ...call.args, details: true } });

/** Returns a call whose stream tells the tokens of the prompt before the answer. */
export const withPromptTokens = (call: ModelCall): ModelCall => ({
  ...call,
  args: { ...call.args, prompt_tokens: true },
});

/** Values of `chat_stream` and `generate_stream`. */
export type TextBatches = AsyncIterable<TextChunk[], GenerationDetails | undefined>;

/**
 * Runs a method of a deployment and returns its result. Errors name the parameter of the client's request, and so does
 * `context.ignore` for keywords of schemas that do not bind the answer.
 */
export function answerOf(
  models: ModelDirectory,
  { name, args, blame }: ModelCall,
  method: string,
  context: RunContext,
): Promise<unknown> {
  return blaming(blame, async () => {
    const output = await models.call(name, method, args, context);
    const { details } = output as { readonly details?: Pick<GenerationDetails, 'unbound'> };
    tellUnbound(details?.unbound, blame, context);
    return output;
  });
}

/**
 * Runs a streaming method. Errors and `context.ignore` are as for {@link answerOf}. While another model may get the
 * request, the tokens of the prompt come with the first piece of the answer.
 */
export async function* piecesOf(
  models: ModelDirectory,
  { name, args, blame }: ModelCall,
  method: string,
  context: RunContext,
): AsyncGenerator<TextChunk[], GenerationDetails | undefined> {
  let held: TextChunk[] = [];
  try {
    const batches = models.stream(name, method, args, context) as TextBatches;
    const details = yield* flatMapped(batches, (batch) => {
      for (const { unbound } of batch) tellUnbound(unbound, blame, context);
      const pieces = [...held, ...batch.filter(({ unbound }) => unbound === undefined)];
      const isHeld = context.begin !== undefined && pieces.every(isNotice);
      held = isHeld ? pieces : [];
      if (isHeld || pieces.length === 0) return [];
      context.begin?.();
      return [pieces];
    });
    if (held.length > 0) yield held; // the answer is empty
    return details;
  } catch (error) {
    throw blamed(error, blame);
  }
}

/** Returns the keys of a JSON pointer, whose numbers are indexes of lists. */
const keysOf = (pointer: string): (string | number)[] =>
  (pointerKeys(pointer) ?? []).map((key) => (/^\d+$/.test(key) ? Number(key) : key));

function tellUnbound(pointers: readonly string[] = [], blame: readonly Blame[], { ignore }: RunContext): void {
  for (const pointer of pointers) ignore?.(paramThrough(paramOf(keysOf(pointer)), blame));
}
