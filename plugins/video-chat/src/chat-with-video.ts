import {
  type AsrSegment,
  type Context,
  type ContextOf,
  defineEndpoint,
  type DialogInput,
  HostError,
  SamplingParams,
  z,
} from 'aana-host/plugin';
import { IndexedVideos, MediaId } from './indexed-videos.ts';
import { fittingEntries, intervalsOf, type TimelineEntry, timelineOf } from './timeline.ts';

/** Tokens of the context that are left for an answer unless the request says more. */
const ANSWER_TOKENS = 512;
/** The part of the context that an answer may have at most. */
const ANSWER_SHARE = 0.25;
const NOTHING = 'Nothing is said in this video, and no text of it is known.';

const Input = z.strictObject({
  media_id: MediaId,
  question: z.string().check(z.minLength(1), z.maxLength(16_384), z.describe('A question about the video.')),
  sampling_params: z.optional(z.nullable(SamplingParams)),
});
type Input = z.infer<typeof Input>;
const completion = z.string().check(z.describe('Generated text.'));
const seconds = z.number().check(z.describe('Seconds from the start of the video.'));
const uses = ['storage', 'repositories', 'repositories-write'] as const;

/** Answers a question about an indexed video. */
export const chatWithVideo = defineEndpoint({
  name: 'video_chat',
  path: '/video/chat',
  summary: 'Chat with a video',
  input: Input,
  output: z.strictObject({
    completion,
    left_out: z
      .array(z.strictObject({ start_time: seconds, end_time: seconds }))
      .check(z.describe("The parts of the video for which the model's context had no room.")),
  }),
  uses,
  async run(input, ctx) {
    const { dialog, leftOut } = await prepared(input, ctx);
    if (!dialog) return { completion: NOTHING, left_out: [] };
    const { message } = await ctx.llm.chat(dialog, { sampling_params: input.sampling_params });
    return { completion: message.content ?? '', left_out: leftOut };
  },
});

/** Answers as `/video/chat` does, in pieces. */
export const chatWithVideoStream = defineEndpoint({
  name: 'video_chat_stream',
  path: '/video/chat_stream',
  summary: 'Chat with a video, with the answer as a stream',
  input: Input,
  output: z.strictObject({ completion }),
  stream: true,
  uses,
  async *run(input, ctx) {
    const { dialog } = await prepared(input, ctx);
    if (!dialog) yield { completion: NOTHING };
    else
      for await (const { text } of ctx.llm.chatStream(dialog, { sampling_params: input.sampling_params }))
        yield { completion: text };
  },
});

interface Prepared {
  /** Undefined if nothing is known of the video. */
  readonly dialog: DialogInput | undefined;
  readonly leftOut: ReturnType<typeof intervalsOf>;
}

/** Makes the dialog with as much of the timeline as the model's context has room for. */
async function prepared(
  { media_id: id, question, sampling_params: sampling }: Input,
  ctx: ContextOf<Context, (typeof uses)[number], undefined>,
): Promise<Prepared> {
  const { title, transcript, captions } = await new IndexedVideos(ctx).content(id);
  const said = transcript.segments as readonly AsrSegment[]; // as indexing has stored them
  const timeline = timelineOf(
    said.map(({ text, time_interval: { start } }) => ({ time: start, text })),
    captions.map(({ caption, timestamp }) => ({ time: timestamp, text: caption })),
  );
  if (timeline.length === 0) return { dialog: undefined, leftOut: [] };

  const dialogOf = (entries: readonly TimelineEntry[]): DialogInput =>
    dialogAbout({ title, question, entries, isWhole: entries.length === timeline.length });
  let [length, room] = [0, 0];
  const entries = await fittingEntries(timeline, question, async (some) => {
    const counted = await ctx.llm.countTokens({ dialog: dialogOf(some) });
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
    ctx.log.warn('the model reads a part of the video', { media_id: id, read: read.size, of: timeline.length });
  return { dialog: dialogOf(entries), leftOut };
}

interface About {
  readonly title: string | null;
  readonly question: string;
  readonly entries: readonly TimelineEntry[];
  readonly isWhole: boolean;
}

// The question stands after the timeline. Before it, small models copy the timeline.
const dialogAbout = ({ title, question, entries, isWhole }: About): DialogInput => ({
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
      ].join('\n\n'),
    },
  ],
});
