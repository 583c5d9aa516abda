import * as z from 'zod';
import { ChatDialog } from '../../schemas/index.ts';
import { method } from '../class/method.ts';

const input = z
  .strictObject({ dialog: z.optional(ChatDialog), text: z.string().optional() })
  .refine(
    ({ dialog, text }) => (dialog === undefined) !== (text === undefined),
    "Exactly one of 'dialog' and 'text' must be provided.",
  );

/** The method `count_tokens` of the text models of this package. */
export const countTokensMethod = method({
  description: 'Counts the tokens of a text, or of a dialog in its template.',
  input,
  output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
});
