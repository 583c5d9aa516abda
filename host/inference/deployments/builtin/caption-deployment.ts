import * as z from 'zod';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import { fail } from '../../../base/core/errors.ts';
import {
  CaptioningBatchOutput,
  CaptioningOutput,
  type ChatOutput,
  ImageReference,
} from '../../../base/schemas/index.ts';
import { configClass } from '../class/config-class.ts';
import { type CallContext, Deployment, type Implements } from '../class/deployment.ts';
import { type Input, method } from '../class/method.ts';

const schema = z.strictObject({
  prompt: z
    .string()
    .min(1)
    .max(65_536)
    .default('Describe this image in one sentence.')
    .describe('What the model is asked about each image.'),
  max_new_tokens: z.int().min(1).default(64).describe('Most tokens of a caption.'),
  batch_size: z.int().min(1).max(256).default(4).describe('Most images of a call that are captioned at the same time.'),
});

/** Configuration of a deployment that says what images show. */
export class CaptionConfig extends configClass(schema) {}

/** Most images of a call. */
const MAX_IMAGES = 256;

const methods = {
  generate_captions: method({
    description: 'Says what an image shows.',
    input: z.strictObject({ image: ImageReference }),
    output: CaptioningOutput,
  }),
  generate_captions_batch: method({
    description: 'Says what each of several images shows.',
    input: z.strictObject({ images: z.array(ImageReference).min(1).max(MAX_IMAGES) }),
    output: CaptioningBatchOutput,
  }),
};

/**
 * Says what images show, through the deployment of a model that sees them. It has no model itself: `handles.vision`
 * names the deployment, whose method `chat` takes images.
 */
export class CaptionDeployment extends Deployment<CaptionConfig> implements Implements<typeof methods> {
  static readonly module: string = import.meta.url;
  static readonly config: typeof CaptionConfig = CaptionConfig;
  static readonly methods: typeof methods = methods;
  static readonly handles = { vision: 'llm_deployment' };
  /** Calls wait for the other deployment, which limits what runs at the same time. */
  static readonly maxOngoingRequests = 64;

  #config = new CaptionConfig();

  /** Throws `ValidationError` if the other deployment has no method `chat`. */
  override applyConfig(config: CaptionConfig): void {
    const vision = this.handle('vision');
    if (!('chat' in vision.methods))
      throw fail('ValidationError', `handles.vision: the deployment ${vision.name} has no method chat`);
    this.#config = config;
  }

  override reconfigure(config: CaptionConfig): void {
    this.#config = config;
  }

  async generate_captions(
    { image }: Input<typeof CaptionDeployment, 'generate_captions'>,
    { signal }: CallContext,
  ): Promise<CaptioningOutput> {
    const { prompt, max_new_tokens: maxTokens } = this.#config;
    const content = [
      { type: 'image', image },
      { type: 'text', text: prompt },
    ];
    const asked = {
      dialog: { messages: [{ role: 'user', content }] },
      sampling_params: { temperature: 0, max_tokens: maxTokens },
    };
    const { message } = (await this.handle('vision').call('chat', asked, { signal })) as ChatOutput;
    return { caption: message.content.trim() };
  }

  async generate_captions_batch(
    { images }: Input<typeof CaptionDeployment, 'generate_captions_batch'>,
    context: CallContext,
  ): Promise<CaptioningBatchOutput> {
    let done = 0;
    const captions = await boundedMap(images, this.#config.batch_size, context.signal, async (image, signal) => {
      const { caption } = await this.generate_captions({ image }, { ...context, signal });
      context.progress((done += 1) / images.length);
      return caption;
    });
    return { captions };
  }
}
