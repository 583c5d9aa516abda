import { type AsrSegment, type Context, type DialogInput, HostError, type SamplingParams } from 'aana-host/plugin';
import type { Content } from './indexed-videos.ts';
import { fittingEntries, intervalsOf, type TimelineEntry, timelineOf } from './timeline.ts';

/** Tokens of the context that are left for an answer unless the request says more. */
export const ANSWER_TOKENS = 512;
/** The part of the context that an answer may have at most. */
const ANSWER_SHARE = 0.25;

export interface Asked {
  readonly question: string;
  /** How the model should write its answer. */
  readonly form?: string | undefined;
  readonly sampling: SamplingParams | null | undefined;
}

/** Leaves out what the caller has left open, and the number of answers: there is one. */
export const oneAnswer = (sampling: Asked['sampling']): SamplingParams =>
  Object.fromEntries(Object.entries(sampling ?? {}).filter(([name, value]) => name !== 'n' && value != null));

interface Prepared {
  /** Undefined if nothing is known of the video. */
  readonly dialog: DialogInput | undefined;
  /** The parts of the video for which the model's context had no room. */
  readonly leftOut: ReturnType<typeof intervalsOf>;
}

/** What is said in a video, as indexing has stored it. */
export const segmentsOf = ({ transcript }: Content): readonly AsrSegment[] =>
  transcript.segments as readonly AsrSegment[];

/** Makes the dialog with as much of the timeline as the model's context has room for. */
export async function dialogAbout(
  content: Content,
  { question, form, sampling }: Asked,
  ctx: Pick<Context, 'llm' | 'log'>,
): Promise<Prepared> {
  const { title, captions } = content;
  const said = segmentsOf(content);
  const timeline = timelineOf(
    said.map(({ text, time_interval: { start } }) => ({ time: start, text })),
    captions.map(({ caption, timestamp }) => ({ time: timestamp, text: caption })),
  );
  if (timeline.length === 0) return { dialog: undefined, leftOut: [] };

  const dialogWith = (entries: readonly TimelineEntry[]): DialogInput =>
    dialogOf({ title, question, form, entries, isWhole: entries.length === timeline.length });
  let [length, room] = [0, 0];
  const entries = await fittingEntries(timeline, question, async (some) => {
    const counted = await ctx.llm.countTokens({ dialog: dialogWith(some) });
    [length, room] = [counted.tokens, counted.max_tokens];
    return length + Math.min(sampling?.max_tokens ?? ANSWER_TOKENS, room * ANSWER_SHARE) <= room;
  });
  if (entries.length === 0)
    throw new HostError(
      'PromptTooLongException',
      'bad-request',
      `the question and the shortest part of the video have ${length} tokens, which leaves no room for an answer in ` +
        `the ${room} tokens of the model's context`,
      { data: { prompt_len: length, max_len: room } },
    );
  const read = new Set(entries);
  const leftOut = intervalsOf(timeline.filter((entry) => !read.has(entry)));
  if (leftOut.length > 0)
    ctx.log.warn('the model reads a part of the video', {
      media_id: content.transcript.media_id,
      read: read.size,
      of: timeline.length,
    });
  return { dialog: dialogWith(entries), leftOut };
}

interface About {
  readonly title: string | null;
  readonly question: string;
  readonly form: string | undefined;
  readonly entries: readonly TimelineEntry[];
  readonly isWhole: boolean;
}

// The question stands after the timeline. Before it, small models copy the timeline.
const dialogOf = ({ title, question, form, entries, isWhole }: About): DialogInput => ({
  messages: [
    {
      role: 'system',
      content:
        'You answer questions about a video. You read its timeline in JSON: `start_time` and `end_time` are seconds, ' +
        '`audio_transcript` is what is said then, and `visual_caption` is what is seen. Answer briefly, and only ' +
        'with what the timeline says. If it does not answer the question, say so.' +
        (isWhole ? '' : ' Parts of the video are missing in the timeline.'),
    },
    {
      role: 'user',
      content: [
        ...(title === null ? [] : [`Title of the video: ${title}`]),
        `Timeline:\n[${entries.map((entry) => JSON.stringify(entry)).join(',\n')}]`,
        `Question: ${question}`,
        ...(form === undefined ? [] : [form]),
      ].join('\n\n'),
    },
  ],
});
