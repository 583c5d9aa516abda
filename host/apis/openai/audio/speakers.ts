import type { AsrOutput, SpeakerDiarizationOutput } from '../../../base/schemas/index.ts';
import { withSpeakers } from '../../../base/transcripts/index.ts';

const LETTERS = 26;

/**
 * Returns a transcript, which has the times of words, in segments of one speaker. The speakers are `A`, `B` and so on
 * in the order in which they begin, as in OpenAI's API. Speakers with a `known` name keep it, and no other one gets it.
 */
export function diarized(
  transcript: AsrOutput,
  speech: SpeakerDiarizationOutput,
  known: readonly string[] = [],
): AsrOutput {
  const { segments } = withSpeakers(transcript, speech);
  const names = new Map<string, string>(known.map((name) => [name, name]));
  let next = 0;
  const unusedLetters = (): string => {
    const name = letters(next);
    next += 1;
    return known.includes(name) ? unusedLetters() : name;
  };
  const nameOf = (speaker: string | null): string | null => {
    if (speaker === null) return null;
    const name = names.get(speaker) ?? unusedLetters();
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
