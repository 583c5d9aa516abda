import * as z from 'zod';
import { MAX_TEXT, MAX_MESSAGES, anyObject } from '../../../base/schemas/index.ts';
import { TokenNumbers } from '../../../base/schemas/checks/token-numbers.ts';
import { dialogOf, RequestMessage } from '../chat/messages.ts';
import { REFUSED_MEDIA } from '../media/media-part.ts';
import { toolArguments, toolBlame, toolFields } from '../chat/tools.ts';
import { invalidValue, type RequestFields } from '../fields.ts';
import type { ModelCall } from '../model-call.ts';
import type { ResolvedModel } from '../models/model-names.ts';

const model = z.string().min(1).max(MAX_TEXT);

/** The parameters of `POST /v1/tokenize`, as in vLLM and llama-server. */
export const TokenizeRequest = z.object({
  model,
  prompt: z.nullish(z.string().max(MAX_TEXT)).describe('A text. Exactly one of prompt, content and messages is given.'),
  content: z.nullish(z.string().max(MAX_TEXT)).describe('The same as prompt, as in llama-server.'),
  messages: z
    .nullish(z.array(RequestMessage).min(1).max(MAX_MESSAGES))
    .describe('A dialog, in the template of the model.'),
  add_special_tokens: z
    .nullish(z.boolean())
    .describe('Whether a text gets the tokens that the model wants around texts. Default: true.'),
  return_token_strs: z.nullish(z.boolean()).describe('Whether the answer has the text of each token.'),
  tools: toolFields.tools,
  chat_template_kwargs: z.nullish(anyObject),
});
export type TokenizeRequest = z.output<typeof TokenizeRequest>;

export const TOKENIZE_FIELDS = {
  schema: TokenizeRequest,
  idle: {
    add_generation_prompt: { why: 'a dialog ends where the answer begins', neutral: [true] },
    continue_final_message: { why: 'a dialog ends where the answer begins', neutral: [false] },
    parse_special: { why: 'control tokens of a text are read as such', neutral: [true] },
    chat_template: { why: 'the deployment has it' },
  },
} as const satisfies RequestFields;

/** The parameters of `POST /v1/detokenize`. */
export const DetokenizeRequest = z.object({ model, tokens: TokenNumbers.check(z.maxLength(1_000_000)) });
export const DETOKENIZE_FIELDS = { schema: DetokenizeRequest, idle: {} } as const satisfies RequestFields;

export const Tokenized = z.object({
  count: z.int(),
  max_model_len: z.int().describe('Tokens that one dialog can hold.'),
  tokens: z.array(z.int()),
  token_strs: z.array(z.string().max(MAX_TEXT)).nullable().describe('With `return_token_strs`.'),
});
export const Detokenized = z.object({
  prompt: z.string().max(MAX_TEXT),
  content: z.string().max(MAX_TEXT).describe('The same, as in llama-server.'),
});

/** Returns the call of `tokenize`. Throws `InvalidParameter` unless exactly one thing is to be tokenized. */
export function tokenizeCall(request: TokenizeRequest, { model }: ResolvedModel): ModelCall {
  const text = request.content == null ? 'prompt' : 'content';
  return {
    name: model.name,
    args: tokenizeArguments(request),
    blame: [
      { dialog: '', text, PromptTooLongException: request.messages == null ? text : 'messages', ...toolBlame(request) },
    ],
  };
}

function tokenizeArguments(request: TokenizeRequest): Record<string, unknown> {
  const { prompt, content, messages, tools, add_special_tokens: outer, chat_template_kwargs: template } = request;
  if ([prompt, content, messages].filter((one) => one != null).length !== 1)
    throw invalidValue('prompt', 'exactly one of prompt, content and messages must be given');
  if (messages == null) return { text: prompt ?? content, ...(outer != null && { add_special_tokens: outer }) };
  return {
    dialog: dialogOf(messages, REFUSED_MEDIA),
    ...toolArguments({ tools }),
    ...(template != null && { chat_template_kwargs: template }),
  };
}

/** The result of the method `tokenize`. */
export interface TokenizeOutput {
  readonly tokens: number[];
  readonly texts: string[];
  readonly max_tokens: number;
}

export function tokenized({ tokens, texts, max_tokens: most }: TokenizeOutput, request: TokenizeRequest) {
  return {
    count: tokens.length,
    max_model_len: most,
    tokens,
    token_strs: request.return_token_strs === true ? texts : null,
  } satisfies z.input<typeof Tokenized>;
}
