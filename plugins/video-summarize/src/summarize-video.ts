import {
  type AsrOutput,
  claimSchema,
  type Context,
  defineEndpoint,
  SamplingParams,
  subtitlesTranscript,
  TextChunk,
  type Video,
  VideoInput,
  z,
} from 'aana-host/plugin';
import { summaryClaims } from './claims.ts';
import { lastChat, TRANSCRIBED } from './summary.ts';
import { transcriptPieces } from './transcript.ts';

const input = z.strictObject({
  video: VideoInput,
  subtitles: z
    .optional(z.boolean())
    .check(
      z.describe('Whether the first track of embedded subtitles stands for the speech, which nothing hears then.'),
    ),
  sampling_params: z.optional(z.nullable(SamplingParams)),
});
type Input = z.infer<typeof input>;

const cited = z.extend(input, {
  cite: z.optional(
    z.nullable(z.boolean().check(z.describe('Whether each point has a quotation of the speech, with its times.'))),
  ),
});

const noSpeech = 'There is no speech in this video, so there is nothing to summarize.';

export const summarizeVideo = defineEndpoint({
  name: 'summarize_video',
  path: '/video/summarize',
  summary: 'Summarize a video',
  description: 'Summarizes the speech of a video in a few bullet points. Long videos are summarized in parts first.',
  input: cited,
  output: z.strictObject({
    summary: z.string().check(z.describe('The summary of the video.')),
    claims: z.optional(z.array(claimSchema(['speech'])).check(z.describe('With `cite`: the points of the summary.'))),
  }),
  async run(args, ctx) {
    const { transcript, pieces } = await transcribed(args, ctx);
    if (pieces.length === 0) return { summary: noSpeech, ...(args.cite && { claims: [] }) };
    if (args.cite) {
      const claims = await summaryClaims(ctx, transcript, pieces, args.sampling_params);
      return { summary: claims.map(({ claim }) => `- ${claim}`).join('\n'), claims };
    }
    const { dialog, options } = await lastChat(ctx, pieces, args.sampling_params);
    const { message } = await ctx.llm.chat(dialog, options);
    return { summary: message.content.trim() };
  },
});

export const summarizeVideoStream = defineEndpoint({
  name: 'summarize_video_stream',
  path: '/video/summarize_stream',
  summary: 'Summarize a video, streamed',
  description: 'Like /video/summarize, but sends the text while it is generated.',
  input,
  output: TextChunk,
  stream: true,
  async run(args, ctx) {
    const { pieces } = await transcribed(args, ctx);
    if (pieces.length === 0) {
      ctx.write({ text: noSpeech });
      return;
    }
    const { dialog, options } = await lastChat(ctx, pieces, args.sampling_params);
    ctx.forward(ctx.llm.chatStream(dialog, options));
  },
});

interface Transcribed {
  readonly transcript: AsrOutput;
  readonly pieces: readonly string[];
}

async function transcribed({ video, subtitles }: Input, ctx: Context): Promise<Transcribed> {
  const opened = await ctx.video.open(video);
  const transcript = subtitles ? subtitlesTranscript(await opened.subtitles()) : await heard(opened, ctx);
  ctx.progress(TRANSCRIBED, 'summarizing');
  return { transcript, pieces: transcriptPieces(transcript) };
}

async function heard(opened: Video, ctx: Context): Promise<AsrOutput> {
  using audio = await opened.extractAudio();
  ctx.progress(0, 'transcribing', { until: TRANSCRIBED });
  return await ctx.asr.transcribe(audio);
}
