import { type AsrOutput, type Context, HostError, type SamplingParams, z } from 'aana-host/plugin';
import { claimsPrompt } from './prompts.ts';
import { splitParts } from './split.ts';
import { ownSampling, shareContext, TRANSCRIBED } from './summary.ts';

const Quote = z.strictObject({
  text: z.string().check(z.describe('Words of the speech, as they were said.')),
  start: z.number().check(z.describe('Where the part of the speech with the first word begins, in seconds.')),
  end: z.number().check(z.describe('Where the part of the speech with the last word ends, in seconds.')),
});

export const Claim = z.strictObject({
  claim: z.string().check(z.describe('One point of the summary.')),
  quotes: z.array(Quote).check(z.minLength(1)),
});
type Claim = z.infer<typeof Claim>;

/** Claims about a whole video; each part of a long one has at least one. */
const MOST_CLAIMS = 5;

/** Words of a quotation. Small models would copy on and on. */
const MOST_WORDS = 30;

/** What the model writes. A sentence that has no end takes no more than `maxLength` characters. */
const answerSchema = (mostClaims: number) => ({
  type: 'object',
  properties: {
    claims: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          claim: { type: 'string', minLength: 1, maxLength: 200 },
          quotes: { type: 'array', items: { type: 'string', format: 'quote' }, minItems: 1, maxItems: 2 },
        },
        required: ['claim', 'quotes'],
        additionalProperties: false,
      },
      minItems: 1,
      maxItems: mostClaims,
    },
  },
  required: ['claims'],
  additionalProperties: false,
});

interface Written {
  readonly claims: readonly { readonly claim: string; readonly quotes: readonly string[] }[];
}

/** Returns claims about a transcript given in pieces, each with quotations of it. No claim comes twice. */
export async function citedClaims(
  ctx: Pick<Context, 'llm' | 'progress'>,
  { segments }: AsrOutput,
  pieces: readonly string[],
  wanted: SamplingParams | null | undefined,
): Promise<Claim[]> {
  const { llm } = ctx;
  for (const name of ['structured_outputs', 'stop', 'stop_token_ids'] as const)
    if (wanted?.[name] != null)
      throw new HostError('InvalidSamplingParams', 'bad-request', `\`cite\` excludes sampling_params.${name}`);
  const { partTokens, answerTokens } = await shareContext(llm, wanted?.max_tokens);
  const countTokens = async (text: string): Promise<number> => (await llm.countTokens({ text })).tokens;
  const parts = await splitParts(pieces, { maxTokens: partTokens, separator: ' ', countTokens });
  const mostClaims = Math.max(1, Math.floor(MOST_CLAIMS / parts.length));
  // The same source for each part, so that the deployment need not read it again.
  const speech = segments.map(({ text, time_interval: time }) => ({ text, ...time }));
  const structured_outputs = { json: answerSchema(mostClaims), quote_of: [speech], max_words: MOST_WORDS };
  const claims = new Map<string, Claim>();
  for (const [at, part] of parts.entries()) {
    const done = TRANSCRIBED + (1 - TRANSCRIBED) * (at / parts.length);
    ctx.progress(done, `citing part ${at + 1} of ${parts.length}`);
    const sampling_params = { ...ownSampling(wanted), max_tokens: answerTokens, structured_outputs };
    const { message, details } = await llm
      .chat(claimsPrompt(part, mostClaims), { sampling_params, details: true })
      .catch((error: unknown) => failCite(error));
    const passages = new Map(details?.quotations?.map((quotation) => [quotation.text, quotation]));
    const written = (JSON.parse(message.content) as Written).claims;
    // The last claim of an answer that was cut may be cut, too.
    const whole = details?.finish_reason === 'length' && written.length > 1 ? written.slice(0, -1) : written;
    for (const { claim, quotes } of whole) {
      if (claim.trim() === '' || claims.has(claim)) continue;
      const found = Array.from(new Set(quotes), (text) => {
        const { start, end } = passages.get(text)!;
        return { text, start: start!, end: end! };
      });
      claims.set(claim, { claim, quotes: found });
    }
  }
  return [...claims.values()];
}

/** Throws the error of a chat with `cite`. The caller wrote that, and not the form of the answer that it stands for. */
function failCite(error: unknown): never {
  if (error instanceof HostError && error.name === 'InvalidSamplingParams' && Array.isArray(error.data)) {
    const [problem] = error.data as { readonly loc?: readonly unknown[]; readonly msg?: string }[];
    if (problem?.loc?.includes('structured_outputs'))
      throw new HostError(error.name, error.kind, `"cite" is not possible: ${problem.msg?.replace(/^quote_of: /, '')}`);
  }
  throw error;
}
