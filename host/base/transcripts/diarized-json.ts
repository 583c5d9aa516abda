import * as z from 'zod/mini';
import type { AsrOutput } from '../schemas/index.ts';
import { spokenText } from './text.ts';
import type { AudioFacts } from './verbose-json.ts';

const seconds = z.number().check(z.minimum(0));

/** A segment of one speaker in the shape of OpenAI's `diarized_json`. */
export const DiarizedSegment = z.strictObject({
  type: z.literal('transcript.text.segment'),
  id: z.string(),
  start: seconds,
  end: seconds,
  text: z.string(),
  speaker: z.optional(z.string()),
});

/** A transcript in the shape of OpenAI's `diarized_json`. Facts that are unknown are absent. */
export const DiarizedTranscription = z.strictObject({
  task: z.literal('transcribe'),
  duration: z.optional(seconds.check(z.describe('Seconds of the audio.'))),
  text: z.string().check(z.describe('The whole text, with a line such as "Ada: Good morning." for each turn.')),
  segments: z.array(DiarizedSegment),
});
export type DiarizedTranscription = z.infer<typeof DiarizedTranscription>;

/** Returns a transcript in the shape of OpenAI's `diarized_json`. */
export function toDiarizedJson(output: AsrOutput, { duration }: AudioFacts = {}): DiarizedTranscription {
  return {
    task: 'transcribe',
    ...(duration !== undefined && { duration }),
    text: spokenText(output),
    segments: output.segments.map(({ time_interval: { start, end }, text, speaker }, n) => ({
      type: 'transcript.text.segment',
      id: `seg_${String(n + 1).padStart(3, '0')}`,
      start,
      end,
      text: text.trim(),
      ...(speaker !== null && { speaker }),
    })),
  };
}
