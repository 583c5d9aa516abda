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
  run(args, ctx) {
    const pieces = transcribed(args, ctx);
    if (pieces.length === 0) return { summary: noSpeech };
    const { dialog, options } = lastChat(ctx, pieces, args.sampling_params);
    return { summary: ctx.llm.chat(dialog, options).message.content.trim() };
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
  run(args, ctx) {
    const pieces = transcribed(args, ctx);
    if (pieces.length === 0) {
      ctx.write({ text: noSpeech });
      return;
    }
    const { dialog, options } = lastChat(ctx, pieces, args.sampling_params);
    ctx.forward(ctx.llm.chatStream(dialog, options));
  },
});

function transcribed({ video }: Input, ctx: Context): string[] {
  const audio = ctx.video.open(video).extractAudio();
  ctx.progress(0, 'transcribing', { until: TRANSCRIBED });
  const transcript = ctx.asr.transcribe(audio);
  audio[Symbol.dispose]();
  ctx.progress(TRANSCRIBED, 'summarizing');
  return transcriptPieces(transcript);
}
