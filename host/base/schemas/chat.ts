import * as z from 'zod/mini';
import { recordOf } from './bounds.ts';
import { answerOf } from './answer-kinds.ts';
import { ChatMessage } from './dialog.ts';
import { absent, text } from './fields.ts';
import { Quotation, StructuredOutputs } from './structured-outputs.ts';

const number = (minimum: number, maximum: number, description: string): z.ZodMiniNumber =>
  z.number().check(z.minimum(minimum), z.maximum(maximum), z.describe(description));

const int = (minimum: number, description: string, maximum = 2_147_483_647): z.ZodMiniNumber =>
  z.int().check(z.minimum(minimum), z.maximum(maximum), z.describe(description));

const MAX_BIASES = 1024;
const TokenNumber = z.string().check(z.maxLength(10), z.regex(/^[0-9]{1,10}$/));
/** As in OpenAI's API. */
const MAX_LOGPROBS = 20;
const MAX_ANSWERS = 16;

/** Sampling options. Absent options have the defaults of the deployment. */
export const SamplingParams = z.strictObject({
  temperature: absent(z.number().check(z.minimum(0), z.maximum(5), z.describe('0 is greedy.'))),
  top_p: absent(z.number().check(z.minimum(0), z.maximum(1), z.describe('0 keeps only the likeliest token.'))),
  top_k: absent(z.int().check(z.refine((k) => k === -1 || k >= 1, 'top_k must be -1 (off) or at least 1.'))),
  min_p: absent(z.number().check(z.minimum(0), z.maximum(1))),
  typical_p: absent(
    z
      .number()
      .check(z.gt(0), z.maximum(1), z.describe('Probability of the tokens whose surprise is the usual one; 1 is off.')),
  ),
  max_tokens: absent(z.int().check(z.minimum(1))),
  min_tokens: absent(int(0, 'Tokens before which an answer does not end by itself.')),
  repetition_penalty: absent(z.number().check(z.gt(0), z.maximum(5))),
  presence_penalty: absent(number(-2, 2, 'Subtracted from the logit of each token that the answer has.')),
  frequency_penalty: absent(
    number(-2, 2, 'Subtracted from the logit of a token for each time that the answer has it.'),
  ),
  dry_multiplier: absent(number(0, 100, 'Strength of the penalty on repeated sequences; 0 is off.')),
  dry_base: absent(number(1, 10, 'Factor of that penalty for each further token of a sequence.')),
  dry_allowed_length: absent(int(1, 'Length of a sequence that may be repeated.')),
  dry_penalty_last_n: absent(int(-1, 'Tokens back that are searched for repetitions; -1 is all, 0 is off.')),
  dry_sequence_breakers: absent(
    z
      .array(text.check(z.maxLength(40)))
      .check(z.maxLength(64), z.describe('Texts over which no repetition is counted.')),
  ),
  xtc_probability: absent(number(0, 1, 'How often the likeliest tokens are excluded; 0 is off.')),
  xtc_threshold: absent(
    number(0, 1, 'Probability from which on tokens are excluded but for the unlikeliest; above 0.5 is off.'),
  ),
  mirostat: absent(int(0, 'Version of mirostat, which replaces the other truncations; 0 is off.', 2)),
  mirostat_tau: absent(number(0, 100, 'Bits of surprise that mirostat aims at.')),
  mirostat_eta: absent(number(0, 1, 'Rate at which mirostat learns.')),
  logit_bias: absent(
    recordOf(TokenNumber, z.number().check(z.minimum(-100), z.maximum(100)), MAX_BIASES).check(
      z.describe('Added to the logits of tokens, by their numbers; -100 bans a token, 100 forces it.'),
    ),
  ),
  bad_words: absent(
    z
      .array(text.check(z.maxLength(200)))
      .check(z.maxLength(1024), z.describe('Words whose tokens the answer does not have.')),
  ),
  ignore_eos: absent(z.boolean().check(z.describe("Whether the model's own end of an answer is never chosen."))),
  seed: absent(z.int().check(z.minimum(0), z.maximum(4294967295), z.describe('Default: another one for each answer.'))),
  stop: absent(z.array(text).check(z.maxLength(16))),
  stop_token_ids: absent(
    z.array(int(0, 'The number of a token.')).check(z.maxLength(1024), z.describe('Tokens that end an answer.')),
  ),
  structured_outputs: absent(StructuredOutputs),
  n: absent(
    int(1, 'Answers to the prompt, which is computed once. With the temperature 0 they are the same.', MAX_ANSWERS),
  ),
  logprobs: absent(
    int(
      0,
      'Tells the log-probability of each token of the answer, and so many of the likeliest tokens at its place.',
      MAX_LOGPROBS,
    ),
  ),
  prompt_logprobs: absent(
    int(
      0,
      'Tells the log-probability of each token of the prompt, and so many of the likeliest tokens at its place.',
      MAX_LOGPROBS,
    ),
  ),
  reproducible: absent(
    z
      .boolean()
      .check(z.describe('Whether the answer is the same whatever other requests run. It then takes more time.')),
  ),
});
export type SamplingParams = z.infer<typeof SamplingParams>;

/** What happens when the context has no room for a prompt or its answer. */
export const Overflow = z
  .enum(['error', 'shift', 'truncate_middle'])
  .check(
    z.describe(
      '"error" (default): a prompt that is too long is refused, and an answer ends when the context is full. ' +
        '"truncate_middle": a prompt that is too long loses its oldest turns, then the middle of its longest texts. ' +
        '"shift": when the context is full, the older half behind the system messages is forgotten, and the ' +
        'answer goes on.',
    ),
  );
export type Overflow = z.infer<typeof Overflow>;

const duration = (text: string) => z.number().check(z.minimum(0), z.describe(text));
const tokens = (text: string) => z.int().check(z.minimum(0), z.describe(text));

/** A token of a text and its log-probability, as in OpenAI's API. */
export const ScoredToken = z.strictObject({
  token: z.string().check(z.describe('The text of the token, with U+FFFD for bytes that are no whole character.')),
  id: z.int().check(z.minimum(0), z.describe('The number of the token.')),
  logprob: z
    .number()
    .check(
      z.maximum(0),
      z.describe(
        'Natural logarithm of the probability that the model gave the token, before sampling parameters change it; ' +
          '-9999 stands for a probability of 0.',
      ),
    ),
  bytes: z.array(z.int()).check(z.describe('The bytes of the token in UTF-8.')),
});
export type ScoredToken = z.infer<typeof ScoredToken>;

/** A token and its log-probability, with the likeliest tokens at its place, as in OpenAI's API. */
export const TokenLogprob = z.extend(ScoredToken, {
  top_logprobs: z.array(ScoredToken).check(z.describe('The likeliest tokens at this place, in order.')),
});
export type TokenLogprob = z.infer<typeof TokenLogprob>;

const Usage = z.strictObject({
  prompt_tokens: tokens('Tokens of the prompt.'),
  cached_tokens: tokens('Tokens of the prompt that were computed for an earlier request.'),
  image_tokens: z.optional(tokens('Tokens of the prompt that are images, where there is any.')),
  audio_tokens: z.optional(tokens('Tokens of the prompt that are audio, where there is any.')),
  completion_tokens: tokens('Tokens of the answer, with its reasoning; of all answers together with `n`.'),
  reasoning_tokens: z.optional(tokens('Tokens of the answer that are reasoning, where there is any.')),
});

/** How likely a token is at a place of the prompt, as in vLLM. */
export const PromptLogprob = z.strictObject({
  logprob: ScoredToken.shape.logprob,
  rank: z.int().check(z.minimum(1), z.describe('The place of the token among all tokens; 1 for the likeliest.')),
  decoded_token: ScoredToken.shape.token,
});
export type PromptLogprob = z.infer<typeof PromptLogprob>;

const promptScores = {
  prompt_token_ids: z.optional(
    z.array(z.int().check(z.minimum(0))).check(z.describe('The numbers of these tokens of the prompt.')),
  ),
  prompt_logprobs: z.optional(
    z
      .array(z.nullable(z.record(z.string(), PromptLogprob)))
      .check(
        z.describe(
          'For each token of the prompt, that token and the likeliest ones by their numbers, if `prompt_logprobs` ' +
            'asks for them. null for the first token.',
        ),
      ),
  ),
};

const unbound = z.optional(
  z
    .array(z.string())
    .check(
      z.describe(
        'JSON pointers to keywords of schemas in the arguments that no grammar holds, such as ' +
          '`#/response_format/json_schema/schema/not`. The answer may break them.',
      ),
    ),
);

const promptTokens = z.optional(
  z.int().check(z.minimum(0), z.describe('Tokens of the prompt, if `prompt_tokens` asks for them.')),
);

const detailFields = {
  finish_reason: z
    .enum(['stop', 'length', 'tool_calls', 'content_filter'])
    .check(
      z.describe(
        '"stop": the model ended, or a stop string came. "length": max_tokens or the context is full. "tool_calls": ' +
          'the model calls tools. "content_filter": a server withheld the rest.',
      ),
    ),
  stop_reason: z.optional(
    z.string().check(z.describe('The stop string that ended the answer, as in vLLM. Absent if none did.')),
  ),
  timings: z.optional(
    z.strictObject({
      queue_ms: duration('Milliseconds from the arrival in the engine until the prompt was computed.'),
      prompt_ms: duration('Milliseconds from then until the first token.'),
      completion_ms: duration('Milliseconds from the first token to the end.'),
    }),
  ),
  dropped: z.optional(
    z
      .strictObject({
        tokens: tokens('Tokens of the prompt, and with "shift" of the answer too.'),
        messages: z.optional(tokens('Messages of the dialog that were left out as a whole.')),
        frames: z.optional(tokens('Frames of videos that were left out, which needs no `overflow`.')),
      })
      .check(z.describe('What the context had no room for, if `overflow` allows to drop it.')),
  ),
  logprobs: z.optional(
    z
      .array(TokenLogprob)
      .check(
        z.describe('The tokens of a whole text, if `logprobs` asks for them. Those of a stream are in its chunks.'),
      ),
  ),
  quotations: z.optional(
    z
      .array(Quotation)
      .check(
        z.describe(
          'With `quote_of`: the texts of the answer that stand in a source, in order, each with its first passage.',
        ),
      ),
  ),
  ...promptScores,
};

/** How one of several answers to a prompt was generated. */
export const ChoiceDetails = z.strictObject({ ...detailFields, usage: z.optional(Usage) });
export type ChoiceDetails = z.infer<typeof ChoiceDetails>;

/** How a text was generated; with `n`, the first text. */
export const GenerationDetails = z.strictObject({
  ...detailFields,
  usage: Usage,
  unbound,
  choices: z.optional(
    z
      .array(ChoiceDetails)
      .check(z.describe('With `n`, at the end of a stream: the details of each answer, with its usage where known.')),
  ),
});
export type GenerationDetails = z.infer<typeof GenerationDetails>;

/** One of several answers to a dialog. */
export const ChatChoice = z.strictObject({ message: ChatMessage, details: z.optional(ChoiceDetails) });
export type ChatChoice = z.infer<typeof ChatChoice>;

/** The result of `chat`. */
export const ChatOutput = answerOf(
  'chat',
  z.strictObject({
    message: ChatMessage,
    choices: z.optional(z.array(ChatChoice).check(z.describe('With `n`: all answers. The first one is `message`.'))),
  }),
);
export type ChatOutput = z.infer<typeof ChatOutput>;

/** The result of `chat` for a call with `details`, `logprobs` or `prompt_logprobs`. */
export const ChatOutputWithDetails = answerOf(
  'chat with details',
  z.extend(ChatOutput, { details: z.optional(GenerationDetails) }),
);
export type ChatOutputWithDetails = z.infer<typeof ChatOutputWithDetails>;

/** The next piece of a call of a tool. The first piece of a call has its id and its name. */
export const ToolCallDelta = z.strictObject({
  index: z.int().check(z.minimum(0), z.describe('The place of the call among the calls of the answer.')),
  id: z.optional(z.string()),
  type: z.optional(z.literal('function')),
  function: z.strictObject({
    name: z.optional(z.string()),
    arguments: z.string().check(z.describe('The next piece of the JSON text of the arguments.')),
  }),
});
export type ToolCallDelta = z.infer<typeof ToolCallDelta>;

/** One value of `chat_stream` and `generate_stream`. */
export const TextChunk = z.strictObject({
  index: z.optional(
    z.int().check(z.minimum(0), z.describe('With `n`: the number of the answer. Absent for the first one, 0.')),
  ),
  text: z.string().check(z.describe('The next piece of the text.')),
  reasoning_content: z.optional(
    z.string().check(z.describe('The next piece of the reasoning, which is no part of the text.')),
  ),
  tool_calls: z.optional(z.array(ToolCallDelta).check(z.describe('The next pieces of calls of tools.'))),
  /** Only the first chunks, which have no text then, have it. */
  unbound,
  /** Only one of the first chunks, which has no text then, has it. */
  prompt_tokens: promptTokens,
  logprobs: z.optional(
    z
      .array(TokenLogprob)
      .check(
        z.describe(
          'The tokens of the piece, if `logprobs` asks for them. The last chunk may have tokens without text.',
        ),
      ),
  ),
  ...promptScores,
});
export type TextChunk = z.infer<typeof TextChunk>;

/** Whether a chunk tells something about the call, and is no piece of the answer. */
export const isNotice = ({ unbound: keywords, prompt_tokens: tokens }: TextChunk): boolean =>
  keywords !== undefined || tokens !== undefined;

/** One of several texts that continue a prompt. */
export const TextChoice = z.strictObject({ text: z.string(), details: z.optional(ChoiceDetails) });
export type TextChoice = z.infer<typeof TextChoice>;

/** The result of `generate`. It has the details if the call has `details`, `logprobs` or `prompt_logprobs`. */
export const GeneratedText = z.strictObject({
  text: z.string().check(z.describe('The text that continues the prompt.')),
  details: z.optional(GenerationDetails),
  choices: z.optional(z.array(TextChoice).check(z.describe('With `n`: all texts. The first one is `text`.'))),
});
export type GeneratedText = z.infer<typeof GeneratedText>;

/**
 * The result of `generate_batch`, in the order of the prompts. It has the details if the call has `details`, `logprobs`
 * or `prompt_logprobs`.
 */
export const GeneratedTexts = z.strictObject({
  texts: z.array(z.string()),
  details: z.optional(z.array(GenerationDetails)),
  choices: z.optional(
    z
      .array(z.array(TextChoice))
      .check(z.describe('With `n`: all texts of each prompt. The first ones are in `texts`.')),
  ),
});
export type GeneratedTexts = z.infer<typeof GeneratedTexts>;
