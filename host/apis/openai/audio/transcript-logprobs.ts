import * as z from 'zod';
import type { AsrSegment } from '../../../base/schemas/index.ts';

/** A token of a transcript, with the shape of OpenAI's API. */
export const TranscriptLogprob = z.object({
  token: z.string(),
  bytes: z.array(z.int()).describe('The bytes of the token. A character may have its bytes in several tokens.'),
  logprob: z.number().max(0),
});
type Logprob = z.input<typeof TranscriptLogprob>;

const SPACE = 0x20;

/**
 * Returns the tokens of segments, whose bytes are the text of the segments. At the start of a transcript the first
 * token lacks its leading space, as the text does.
 */
export function transcriptLogprobs(segments: readonly AsrSegment[], isStart: boolean): Logprob[] {
  const tokens = segments.flatMap((segment) => segment.tokens ?? []);
  return tokens.map(({ token, bytes, logprob }, index) =>
    isStart && index === 0 && bytes[0] === SPACE
      ? { token: token.slice(1), bytes: bytes.slice(1), logprob }
      : { token, bytes, logprob },
  );
}
