import * as z from 'zod';
import { ChatDialogInput, chatOptions } from '../../../base/schemas/index.ts';
import { TokenNumbers } from '../../../base/schemas/checks/token-numbers.ts';
import { method } from '../class/method.ts';
import { assistantPrefix } from '../class/text-generation-methods.ts';

const textOrDialog = {
  dialog: z.optional(ChatDialogInput),
  text: z.string().optional(),
  assistant_prefix: assistantPrefix,
  tools: chatOptions.tools,
  tool_choice: chatOptions.tool_choice,
  parallel_tool_calls: chatOptions.parallel_tool_calls,
  chat_template_kwargs: chatOptions.chat_template_kwargs,
};
const hasOneOfThem = ({ dialog, text }: { readonly dialog?: unknown; readonly text?: unknown }): boolean =>
  (dialog === undefined) !== (text === undefined);
const ONE_OF_THEM = "Exactly one of 'dialog' and 'text' must be provided.";

/** The method `count_tokens` of text models. */
export const countTokensMethod = method({
  description: 'Counts the tokens of a text, or of a dialog and its tools in the template of the model.',
  input: z.strictObject(textOrDialog).refine(hasOneOfThem, ONE_OF_THEM),
  output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
});

/** The methods `tokenize` and `detokenize` of text models. */
export const tokenMethods = {
  tokenize: method({
    description: 'Tells the tokens of a text, or of a dialog and its tools in the template of the model.',
    input: z
      .strictObject({
        ...textOrDialog,
        add_special_tokens: z
          .boolean()
          .nullish()
          .describe('Whether a text gets the tokens that the model wants around texts. Default: true.'),
      })
      .refine(hasOneOfThem, ONE_OF_THEM),
    output: z.strictObject({
      tokens: TokenNumbers,
      texts: z.array(z.string()).describe('The text of each token, with U+FFFD for bytes that are no whole character.'),
      max_tokens: z.int().describe('Tokens that one dialog can hold.'),
    }),
  }),
  detokenize: method({
    description: 'Tells the text of tokens.',
    input: z.strictObject({ tokens: TokenNumbers.check(z.maxLength(1_000_000)) }),
    output: z.strictObject({ text: z.string() }),
  }),
};
