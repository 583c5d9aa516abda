import { deflateSync } from 'node:zlib';
import * as z from 'zod';
import { VerboseTranscription } from '../../../base/transcripts/index.ts';

type Segment = VerboseTranscription['segments'][number];

/** A segment of `verbose_json` with all keys of OpenAI's API, because typed clients refuse a segment that lacks one. */
export const VerboseSegment = z.object({
  ...VerboseTranscription.shape.segments.def.element.shape,
  seek: z.int().describe('Start of the segment in hundredths of a second.'),
  tokens: z.array(z.int()).describe('The tokens of the text, without those of times.'),
  temperature: z.number().describe('Temperature of the request. Higher ones may have been tried.'),
  compression_ratio: z.number().describe('How many times shorter compression makes the text.'),
});

/** Returns a segment with all keys of OpenAI's API. */
export function verboseSegment(
  segment: Segment,
  tokens: readonly number[],
  temperature: number,
): z.input<typeof VerboseSegment> {
  return {
    ...segment,
    seek: Math.round(segment.start * 100),
    tokens: [...tokens],
    temperature,
    compression_ratio: compressionRatio(segment.text),
  };
}

/** Returns the ratio by which Whisper recognizes a text that repeats itself. */
function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return bytes.length / deflateSync(bytes).length;
}
