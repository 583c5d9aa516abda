import type { AsrOutput, SpeakerDiarizationOutput } from '../../schemas/index.ts';
import { withSpeakers } from '../../transcripts/index.ts';

const LETTERS = 26;

/**
 * Returns a transcript, which has the times of words, in segments of one speaker. The speakers are `A`, `B` and so on in
 * the order in which they begin, as in OpenAI's API.
 */
export function diarized(transcript: AsrOutput, speech: SpeakerDiarizationOutput): AsrOutput {
  const { segments } = withSpeakers(transcript, speech);
  const names = new Map<string, string>();
  const nameOf = (speaker: string | null): string | null => {
    if (speaker === null) return null;
    const name = names.get(speaker) ?? letters(names.size);
    names.set(speaker, name);
    return name;
  };
  return {
    ...transcript,
    segments: segments.map((segment) => ({ ...segment, speaker: nameOf(segment.speaker) })),
  };
}

/** Returns `A` for 0, `Z` for 25, `AA` for 26. */
function letters(n: number): string {
  const last = String.fromCodePoint('A'.charCodeAt(0) + (n % LETTERS));
  return n < LETTERS ? last : letters(Math.floor(n / LETTERS) - 1) + last;
}
