import { type Context, defineEndpoint, SamplingParams, TextChunk, VideoInput, z } from 'aana-host/plugin';
import { lastChat, TRANSCRIBED } from './summary.ts';
import { transcriptPieces } from './transcript.ts';

const input = z.strictObject({
  video: VideoInput,
  sampling_params: z.optional(z.nullable(SamplingParams)),
});
type Input = z.infer<typeof input>;

const noSpeech = 'There is no speech in this video, so there is nothing to summarize.';

export const summarizeVideo = defineEndpoint({
  name: 'summarize_video',
  path: '/video/summarize',
  summary: 'Summarize a video',
  description: 'Summarizes the speech of a video in a few bullet points. Long videos are summarized in parts first.',
  input,
  output: z.strictObject({ summary: z.string().check(z.describe('The summary of the video.')) }),
  async run(args, ctx) {
    const pieces = await transcribed(args, ctx);
    if (pieces.length === 0) return { summary: noSpeech };
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
    const pieces = await transcribed(args, ctx);
    if (pieces.length === 0) {
      ctx.write({ text: noSpeech });
      return;
    }
    const { dialog, options } = await lastChat(ctx, pieces, args.sampling_params);
    ctx.forward(ctx.llm.chatStream(dialog, options));
  },
});

async function transcribed({ video }: Input, ctx: Context): Promise<string[]> {
  const opened = await ctx.video.open(video);
  const audio = await opened.extractAudio();
  ctx.progress(0, 'transcribing', { until: TRANSCRIBED });
  const transcript = await ctx.asr.transcribe(audio);
  audio[Symbol.dispose]();
  ctx.progress(TRANSCRIBED, 'summarizing');
  return transcriptPieces(transcript);
}
