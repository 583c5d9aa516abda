import * as z from 'zod';
import type { AsrOutput } from '../../../base/schemas/index.ts';
import { DiarizedSegment, toDiarizedJson } from '../../../base/transcripts/index.ts';
import { includesLogprobs, type TranscriptionRequest } from './audio-fields.ts';
import { TranscriptLogprob, transcriptLogprobs } from './transcript-logprobs.ts';

const Delta = z.object({
  type: z.literal('transcript.text.delta'),
  delta: z.string().describe('The text of a segment. All of them together are the text of the last event.'),
  start: z.number().optional().describe('Where the segment begins, in seconds. OpenAI has no such member.'),
  end: z.number().optional().describe('Where the segment ends, in seconds. OpenAI has no such member.'),
  segment_id: z.string().optional().describe('The segment of `diarized_json` that has the text.'),
  logprobs: z.array(TranscriptLogprob).optional().describe('The tokens of the delta, with `include`.'),
});
const Done = z.object({
  type: z.literal('transcript.text.done'),
  text: z.string(),
  logprobs: z.array(TranscriptLogprob).optional().describe('The tokens of the text, with `include`.'),
});

/** One event of a streamed answer of `POST /v1/audio/transcriptions`. The text `[DONE]` follows the last one. */
export const TranscriptionEvent = z.union([Delta, DiarizedSegment, Done]);
type Event = z.input<typeof TranscriptionEvent>;

/** Translates the values of `transcribe_stream` into the events of OpenAI's API. */
export class TranscriptionEvents {
  readonly #logprobs: z.input<typeof TranscriptLogprob>[] | undefined;
  #text = '';

  constructor(request: TranscriptionRequest) {
    this.#logprobs = includesLogprobs(request) ? [] : undefined;
  }

  /** Returns the events of one value. */
  of({ segments }: AsrOutput): Event[] {
    return segments.flatMap((segment): Event[] => {
      const isStart = this.#text === '';
      const delta = isStart ? segment.text.trimStart() : segment.text;
      if (delta === '') return [];
      this.#text += delta;
      const logprobs = this.#logprobs && transcriptLogprobs([segment], isStart);
      this.#logprobs?.push(...(logprobs ?? []));
      const { start, end } = segment.time_interval;
      return [{ type: 'transcript.text.delta', delta, start, end, ...(logprobs && { logprobs }) }];
    });
  }

  /** Returns the event at the end of the stream. */
  end(): Event {
    return { type: 'transcript.text.done', text: this.#text, ...(this.#logprobs && { logprobs: this.#logprobs }) };
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
