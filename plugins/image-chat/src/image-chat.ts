import {
  type Context,
  defineEndpoint,
  type DialogInput,
  type Image,
  ImageInput,
  promptDialog,
  SamplingParams,
  z,
} from 'aana-host/plugin';

const VISION = 'vision_deployment';

const Input = z.strictObject({
  images: z.array(ImageInput).check(z.minLength(1), z.maxLength(16), z.describe('What the model sees, in this order.')),
  prompt: z.string().check(z.minLength(1), z.describe('What the model is asked.')),
  sampling_params: z.optional(z.nullable(SamplingParams)),
});
const Output = z.strictObject({ completion: z.string() });

/** Answers a question about images. */
export const imageChat = defineEndpoint({
  name: 'image_chat',
  path: '/image/chat',
  summary: 'Ask a question about images',
  description: 'A language model that sees answers a question about one or more images.',
  input: Input,
  output: Output,
  async run({ images, prompt, sampling_params: params }, ctx) {
    const { message } = await ctx.llm(VISION).chat(await dialogOf(images, prompt, ctx), { sampling_params: params });
    return { completion: message.content };
  },
});

/** Answers as `/image/chat` does, in pieces. */
export const imageChatStream = defineEndpoint({
  name: 'image_chat_stream',
  path: '/image/chat_stream',
  summary: 'Ask a question about images, with the answer as a stream',
  description: 'Each value has the next piece of the answer.',
  input: Input,
  output: Output,
  stream: true,
  async *run({ images, prompt, sampling_params: params }, ctx) {
    const dialog = await dialogOf(images, prompt, ctx);
    for await (const { text, index = 0 } of ctx.llm(VISION).chatStream(dialog, { sampling_params: params }))
      if (text !== '' && index === 0) yield { completion: text };
  },
});

async function dialogOf(inputs: readonly ImageInput[], prompt: string, ctx: Context): Promise<DialogInput> {
  const images: Image[] = [];
  for (const input of inputs) images.push(await ctx.image.open(input));
  return promptDialog(prompt, { images });
}
