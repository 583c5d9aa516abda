import { type AsrOutput, type Claim, citedClaims, type Context, type SamplingParams } from 'aana-host/plugin';
import { claimsPrompt } from './prompts.ts';
import { splitParts } from './split.ts';
import { ownSampling, shareContext, TRANSCRIBED } from './summary.ts';

/** Claims about a whole video; each part of a long one may have at least one. */
const MOST_CLAIMS = 5;

/** Returns claims about a transcript given in pieces, each with quotations of it. No claim comes twice. */
export async function summaryClaims(
  ctx: Pick<Context, 'llm' | 'progress'>,
  { segments }: AsrOutput,
  pieces: readonly string[],
  wanted: SamplingParams | null | undefined,
): Promise<Claim<'speech'>[]> {
  const { llm } = ctx;
  const { partTokens, answerTokens } = await shareContext(llm, wanted?.max_tokens);
  const countTokens = async (text: string): Promise<number> => (await llm.countTokens({ text })).tokens;
  const parts = await splitParts(pieces, { maxTokens: partTokens, separator: ' ', countTokens });
  const mostClaims = Math.max(1, Math.floor(MOST_CLAIMS / parts.length));
  // The same source for each part, so that the deployment need not read it again.
  const sources = { speech: segments.map(({ text, time_interval: time }) => ({ text, ...time })) };
  const sampling_params = { ...ownSampling(wanted), max_tokens: answerTokens };
  const options = { sources, mostClaims, first: 'claim', sampling_params } as const;
  const claims = new Map<string, Claim<'speech'>>();
  for (const [at, part] of parts.entries()) {
    const done = TRANSCRIBED + (1 - TRANSCRIBED) * (at / parts.length);
    ctx.progress(done, `citing part ${at + 1} of ${parts.length}`);
    const dialog = claimsPrompt(part, mostClaims);
    for (const claim of await citedClaims(llm, dialog, options))
      if (!claims.has(claim.claim)) claims.set(claim.claim, claim);
  }
  return [...claims.values()];
}
