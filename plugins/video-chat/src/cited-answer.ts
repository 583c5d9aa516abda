import { type Context, HostError, z } from 'aana-host/plugin';
import { ANSWER_TOKENS, type Asked, dialogAbout, oneAnswer, segmentsOf } from './dialog.ts';
import type { Content } from './indexed-videos.ts';
import { SLIDE_TEXT } from './pictures.ts';

const seconds = z.number().check(z.describe('Seconds from the start of the video.'));

/** A sentence of an answer, with what it rests on. */
export const Claim = z.strictObject({
  claim: z.string(),
  quotes: z.array(
    z.strictObject({
      text: z.string().check(z.describe('At least five words that stand in the source.')),
      start: seconds,
      end: seconds,
      source: z.enum(['speech', 'slide']),
    }),
  ),
});
export type Claim = z.infer<typeof Claim>;

/** The most that a model says: it repeats itself otherwise. */
const MOST = { claims: 5, quotes: 3, characters: 300, words: 30 } as const;

// The model writes the quotations of a claim first, so that the claim follows from them.
const FORM = {
  type: 'object',
  properties: {
    claims: {
      type: 'array',
      minItems: 1,
      maxItems: MOST.claims,
      items: {
        type: 'object',
        properties: {
          quotes: {
            type: 'array',
            minItems: 1,
            maxItems: MOST.quotes,
            items: { type: 'string', format: 'quote' },
          },
          claim: { type: 'string', minLength: 1, maxLength: MOST.characters },
        },
        required: ['quotes', 'claim'],
        additionalProperties: false,
      },
    },
  },
  required: ['claims'],
  additionalProperties: false,
} as const;

/**
 * Answers with claims, each of which has words of the video. Undefined if no words of the video are known. Throws
 * `ValidationError` for sampling parameters that give the answer another form, and `InvalidSamplingParams` for a video
 * with too few words to quote.
 */
export async function citedAnswer(
  content: Content,
  { question, sampling }: Asked,
  ctx: Pick<Context, 'llm' | 'log'>,
): Promise<{ completion: string; claims: Claim[]; left_out: { start_time: number; end_time: number }[] } | undefined> {
  for (const name of ['structured_outputs', 'stop', 'stop_token_ids'] as const)
    if (sampling?.[name] != null)
      throw new HostError(
        'ValidationError',
        'invalid-input',
        `"cite" decides the form of the answer: leave out ${name}`,
      );
  // It shows no example, because small models copy it.
  const form =
    'Answer in JSON with claims: first the "quotes" of a claim, which say word for word what is said or seen, and ' +
    'then the "claim" that they show, a short sentence in your own words.';
  const { dialog, leftOut } = await dialogAbout(content, { question, form, sampling }, ctx);
  const sources = sourcesOf(content);
  if (!dialog || sources.length === 0) return undefined;
  const structured_outputs = {
    ...{ json: FORM, quote_of: sources.map(({ parts }) => parts), max_words: MOST.words },
  };
  const sampling_params = { max_tokens: ANSWER_TOKENS, structured_outputs, ...oneAnswer(sampling) };
  const { message, details } = await ctx.llm
    .chat(dialog, { sampling_params, details: true })
    .catch((error: unknown) => failCite(error));
  const found = new Map(details?.quotations?.map((quotation) => [quotation.text, quotation]));
  const answer = parsed(message.content ?? '');
  const claims: Claim[] = [];
  for (const { claim, quotes } of answer.claims) {
    // Without one that the end of the answer cuts. Small models repeat themselves.
    const whole = [...new Set(quotes)].flatMap((quote) => found.get(quote) ?? []);
    if (claim.trim() === '' || whole.length === 0 || claims.some((other) => other.claim === claim)) continue;
    claims.push({
      claim,
      quotes: whole.map(({ text, start = 0, end = start, source }) => ({
        ...{ text, start, end },
        source: sources[source]!.name,
      })),
    });
  }
  return { completion: claims.map(({ claim }) => claim).join('\n'), claims, left_out: leftOut };
}

/** The claims of a model. None if the context ended before the form of the answer did. */
function parsed(content: string): { readonly claims: readonly { claim: string; quotes: string[] }[] } {
  try {
    return JSON.parse(content) as ReturnType<typeof parsed>;
  } catch {
    return { claims: [] };
  }
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

interface Source {
  readonly name: Claim['quotes'][number]['source'];
  readonly parts: { text: string; start: number; end: number }[];
}

/** The words of a video with their times. What a model says of its pictures is none of them. */
function sourcesOf(content: Content): Source[] {
  const slides = content.captions.filter(({ caption_type: type }) => type === SLIDE_TEXT);
  const sources: Source[] = [
    {
      name: 'speech',
      parts: segmentsOf(content).map(({ text, time_interval: { start, end } }) => ({ text, start, end })),
    },
    {
      name: 'slide',
      // A slide stands until the next one.
      parts: slides.map(({ caption, timestamp }, n) => ({
        ...{ text: caption, start: timestamp },
        end: Math.max(timestamp, slides[n + 1]?.timestamp ?? content.duration ?? 0),
      })),
    },
  ];
  return sources.filter(({ parts }) => parts.length > 0);
}
