import { defineEndpoint, SamplingParams, z } from 'aana-host/plugin';
import { Claim, citedAnswer } from './cited-answer.ts';
import { dialogAbout, oneAnswer } from './dialog.ts';
import { IndexedVideos, MediaId } from './indexed-videos.ts';

const NOTHING = 'Nothing is said in this video, and no text of it is known.';

const Input = z.strictObject({
  media_id: MediaId,
  question: z.string().check(z.minLength(1), z.maxLength(16_384), z.describe('A question about the video.')),
  sampling_params: z.optional(z.nullable(SamplingParams)),
});
const completion = z.string().check(z.describe('Generated text.'));
const seconds = z.number().check(z.describe('Seconds from the start of the video.'));
const uses = ['storage', 'repositories', 'repositories-write'] as const;

/** Answers a question about an indexed video. */
export const chatWithVideo = defineEndpoint({
  name: 'video_chat',
  path: '/video/chat',
  summary: 'Chat with a video',
  input: z.extend(Input, {
    cite: z._default(
      z.boolean().check(z.describe('Whether the answer consists of claims with quotations of the video.')),
      false,
    ),
  }),
  output: z.strictObject({
    completion,
    claims: z.optional(z.array(Claim).check(z.describe('The claims of the completion, with `cite`.'))),
    left_out: z
      .array(z.strictObject({ start_time: seconds, end_time: seconds }))
      .check(z.describe("The parts of the video for which the model's context had no room.")),
  }),
  uses,
  async run({ media_id: id, question, sampling_params: sampling, cite }, ctx) {
    const content = await new IndexedVideos(ctx).content(id);
    if (cite) return (await citedAnswer(content, { question, sampling }, ctx)) ?? { ...nothing(), claims: [] };
    const { dialog, leftOut } = await dialogAbout(content, { question, sampling }, ctx);
    if (!dialog) return nothing();
    const { message } = await ctx.llm.chat(dialog, { sampling_params: oneAnswer(sampling) });
    return { completion: message.content ?? '', left_out: leftOut };
  },
});

const nothing = () => ({ completion: NOTHING, left_out: [] });

/** Answers as `/video/chat` does, in pieces. */
export const chatWithVideoStream = defineEndpoint({
  name: 'video_chat_stream',
  path: '/video/chat_stream',
  summary: 'Chat with a video, with the answer as a stream',
  input: Input,
  output: z.strictObject({ completion }),
  stream: true,
  uses,
  async *run({ media_id: id, question, sampling_params: sampling }, ctx) {
    const { dialog } = await dialogAbout(await new IndexedVideos(ctx).content(id), { question, sampling }, ctx);
    if (!dialog) yield { completion: NOTHING };
    else
      for await (const { text } of ctx.llm.chatStream(dialog, { sampling_params: oneAnswer(sampling) }))
        yield { completion: text };
  },
});
