import * as z from 'zod';
import { ChatDialogInput, chatOptions } from '../../schemas/index.ts';
import { method } from '../class/method.ts';

const input = z
  .strictObject({
    dialog: z.optional(ChatDialogInput),
    text: z.string().optional(),
    tools: chatOptions.tools,
    tool_choice: chatOptions.tool_choice,
    chat_template_kwargs: chatOptions.chat_template_kwargs,
  })
  .refine(
    ({ dialog, text }) => (dialog === undefined) !== (text === undefined),
    "Exactly one of 'dialog' and 'text' must be provided.",
  );

/** The method `count_tokens` of the text models of this package. */
export const countTokensMethod = method({
  description: 'Counts the tokens of a text, or of a dialog and its tools in the template of the model.',
  input,
  output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
});
