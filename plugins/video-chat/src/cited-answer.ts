import { type Claim as ClaimOf, citedClaims, claimSchema, type Context, type SourcePart } from 'aana-host/plugin';
import { ANSWER_TOKENS, type Asked, dialogAbout, oneAnswer, segmentsOf } from './dialog.ts';
import type { Content } from './indexed-videos.ts';
import { SLIDE_TEXT } from './pictures.ts';

/** A sentence of an answer, with what it rests on. */
export const Claim = claimSchema(['speech', 'slide']);
type Source = 'speech' | 'slide';

/**
 * Answers with claims, each of which has words of the video. Undefined if no words of the video are known. Throws
 * `InvalidSamplingParams` for sampling parameters that give the answer another form, and for a video with too few words
 * to quote.
 */
export async function citedAnswer(
  content: Content,
  { question, sampling }: Asked,
  ctx: Pick<Context, 'llm' | 'log'>,
): Promise<
  { completion: string; claims: ClaimOf<Source>[]; left_out: { start_time: number; end_time: number }[] } | undefined
> {
  // It shows no example, because small models copy it.
  const form =
    'Answer in JSON with claims: first the "quotes" of a claim, which say word for word what is said or seen, and ' +
    'then the "claim" that they show, a short sentence in your own words.';
  const { dialog, leftOut } = await dialogAbout(content, { question, form, sampling }, ctx);
  const sources = sourcesOf(content);
  if (!dialog || Object.keys(sources).length === 0) return undefined;
  const sampling_params = { max_tokens: ANSWER_TOKENS, ...oneAnswer(sampling) };
  const claims = await citedClaims(ctx.llm, dialog, { sources, sampling_params });
  return { completion: claims.map(({ claim }) => claim).join('\n'), claims, left_out: leftOut };
}

/** The words of a video with their times. What a model says of its pictures is none of them. */
function sourcesOf(content: Content): Partial<Record<Source, SourcePart[]>> {
  const speech = segmentsOf(content).map(({ text, time_interval: time }) => ({ text, ...time }));
  const slides = content.captions.filter(({ caption_type: type }) => type === SLIDE_TEXT);
  // A slide stands until the next one.
  const slide = slides.map(({ caption: text, timestamp: start }, n) => {
    const end = Math.max(start, slides[n + 1]?.timestamp ?? content.duration ?? 0);
    return { text, start, end };
  });
  return { ...(speech.length > 0 && { speech }), ...(slide.length > 0 && { slide }) };
}
