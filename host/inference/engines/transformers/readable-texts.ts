import { fail } from '../../../base/core/errors.ts';

/** Characters that a token has at most in nearly all texts. */
export const TOKEN_CHARACTERS = 64;
/** Most characters that are read whole. More may take longer than a replica may be silent. */
const MOST_CHARACTERS = 10_000_000;

/** Throws `InvalidPrompt` for a text of so many characters that it would be read for too long. */
export function requireReadable(characters: number, model: string): void {
  if (characters <= MOST_CHARACTERS) return;
  throw fail('InvalidPrompt', `${model} reads at most ${MOST_CHARACTERS} characters of a text`, {
    data: { model_name: model },
  });
}
