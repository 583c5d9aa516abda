import * as z from 'zod';
import type { AsrOutput } from '../../schemas/index.ts';
import { DiarizedSegment, toDiarizedJson } from '../../transcripts/index.ts';

const Delta = z.object({
  type: z.literal('transcript.text.delta'),
  delta: z.string().describe('The text of a segment. All of them together are the text of the last event.'),
  segment_id: z.string().optional().describe('The segment of `diarized_json` that has the text.'),
});
const Done = z.object({ type: z.literal('transcript.text.done'), text: z.string() });

/** One event of a streamed answer of `POST /v1/audio/transcriptions`. The text `[DONE]` follows the last one. */
export const TranscriptionEvent = z.union([Delta, DiarizedSegment, Done]);
type Event = z.input<typeof TranscriptionEvent>;

/** Translates the values of `transcribe_stream` into the events of OpenAI's API. */
export class TranscriptionEvents {
  #text = '';

  /** Returns the events of one value. */
  of({ segments }: AsrOutput): Event[] {
    return segments.flatMap(({ text }): Event[] => {
      const delta = this.#text === '' ? text.trimStart() : text;
      this.#text += delta;
      return delta === '' ? [] : [{ type: 'transcript.text.delta', delta }];
    });
  }

  /** Returns the event at the end of the stream. */
  end(): Event {
    return { type: 'transcript.text.done', text: this.#text };
  }
}

/** Returns the events of a whole transcript with speakers. */
export function diarizedEvents(transcript: AsrOutput): Event[] {
  const { text, segments } = toDiarizedJson(transcript);
  return [
    ...segments.flatMap((segment): Event[] => [
      { type: 'transcript.text.delta', delta: segment.text, segment_id: segment.id },
      segment,
    ]),
    { type: 'transcript.text.done', text },
  ];
}
