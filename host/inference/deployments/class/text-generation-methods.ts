import * as z from 'zod';
import {
  type DialogMessage,
  type ImageChatDialog,
  ChatDialogInput,
  chatOptions,
  ChatOutputWithDetails,
  GeneratedText,
  GeneratedTexts,
  GenerationDetails,
  Overflow,
  ResponseFormat,
  SamplingParams,
  TextChunk,
  textOfContent,
} from '../../../base/schemas/index.ts';
import { TokenNumbers } from '../../../base/schemas/checks/token-numbers.ts';
import { method, streamingMethod } from './method.ts';

/** Sampling parameters that a deployment sets for requests. */
export const DefaultSamplingParams = SamplingParams.check(
  z.refine(({ n }) => n == null, {
    path: ['n'],
    error: 'is not a default: only a request chooses the number of its answers.',
  }),
  z.refine(({ prompt_logprobs: scores }) => scores == null, {
    path: ['prompt_logprobs'],
    error: 'is not a default: only a request asks for them, because they keep its prompt from the cache.',
  }),
);

const sampling = z.optional(z.nullable(SamplingParams));
/** The argument `assistant_prefix` of methods that take dialogs. */
export const assistantPrefix = z.optional(z.nullable(z.string().describe('Text with which the answer begins.')));
const details = z
  .boolean()
  .optional()
  .describe('Adds to the result why each text ended, its number of tokens and its times.');
const promptTokens = z
  .boolean()
  .optional()
  .describe('Tells the number of tokens of the prompt before the answer begins, where the model can count them.');
const adapter = z.optional(
  z.nullable(z.string().min(1).describe('Name of a LoRA adapter of the deployment. Default: the model without one.')),
);
const overflow = z.optional(z.nullable(Overflow));
const format = z.optional(
  z.nullable(ResponseFormat).describe('The form of the answer: text, a JSON object, or JSON that a schema takes.'),
);
const chat = z.strictObject({
  dialog: ChatDialogInput,
  sampling_params: sampling,
  assistant_prefix: assistantPrefix,
  response_format: format,
  adapter,
  overflow,
  ...chatOptions,
});
const generate = z.strictObject({ prompt: z.string(), sampling_params: sampling, adapter, overflow });
const tokenPrompt = z
  .union([z.string(), TokenNumbers.check(z.minLength(1), z.maxLength(1_000_000))])
  .describe('A text, or the numbers of tokens, which nothing is added to.');
const batch = z.strictObject({
  prompts: z.array(z.string()).max(1000),
  sampling_params: sampling,
  adapter,
  overflow,
  details,
});

/** Methods of every deployment of a text model. */
export const textGenerationMethods = {
  chat: method({
    operation: 'chat',
    description: 'Answers a dialog.',
    input: chat.extend({ details }),
    output: ChatOutputWithDetails,
  }),
  chat_stream: streamingMethod({
    operation: 'chat',
    description: 'Answers a dialog, piece by piece.',
    input: chat.extend({ prompt_tokens: promptTokens }),
    output: TextChunk,
    end: GenerationDetails,
  }),
  generate: method({
    operation: 'text_completion',
    description: 'Continues a text.',
    input: generate.extend({ details }),
    output: GeneratedText,
  }),
  generate_stream: streamingMethod({
    operation: 'text_completion',
    description: 'Continues a text, piece by piece.',
    input: generate,
    output: TextChunk,
    end: GenerationDetails,
  }),
  generate_batch: method({
    operation: 'text_completion',
    description: 'Continues several texts independently.',
    input: batch,
    output: GeneratedTexts,
  }),
};

/** The handle with which a text model that sees no images gets the texts in them. */
export const imageTextHandle = { ocr: 'recognize' } as const;

/** Methods of text models that also take tokens as a prompt. */
export const tokenPromptMethods = {
  generate: method({
    operation: 'text_completion',
    description: textGenerationMethods.generate.description,
    input: generate.extend({ prompt: tokenPrompt, details }),
    output: GeneratedText,
  }),
  generate_stream: streamingMethod({
    operation: 'text_completion',
    description: textGenerationMethods.generate_stream.description,
    input: generate.extend({ prompt: tokenPrompt }),
    output: TextChunk,
    end: GenerationDetails,
  }),
};

/**
 * Characters at the beginning of a prompt that choose its replica. Enough to tell system prompts apart, because many
 * start with the same few words.
 */
const AFFINITY_CHARACTERS = 512;

/** Returns a text for the images of a content, because their replica has kept what it made of them. */
const imagesOf = (content: DialogMessage['content']): string =>
  typeof content === 'string'
    ? ''
    : content.map((part) => (part.type === 'image' ? part.image.pixels.sha256.slice(0, 8) : '')).join('');

/**
 * Returns the beginning of a prompt. Calls with the same beginning prefer the same replica, which may have cached it.
 */
export function promptBeginning(
  _method: string,
  { prompt, dialog, adapter: named }: Readonly<Record<string, unknown>>,
): string | undefined {
  // What was computed with another adapter is of no use.
  const begin = typeof named === 'string' ? `${named}\n` : '';
  if (typeof prompt === 'string') return begin + prompt.slice(0, AFFINITY_CHARACTERS);
  if (Array.isArray(prompt)) return begin + prompt.slice(0, AFFINITY_CHARACTERS / 4).join(' ');
  if (dialog === undefined) return undefined;
  const { messages } = dialog as ImageChatDialog;
  const text = messages.map(({ role, content }) => `${role}: ${imagesOf(content)}${textOfContent(content)}`).join('\n');
  return begin + text.slice(0, AFFINITY_CHARACTERS);
}
