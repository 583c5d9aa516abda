import { formatError } from './formats/format-error.ts';

/** Number of byte strings in the published files of all families. The special tokens after them have no text. */
export const BASE_TOKENS = 50_257;
const MULTILINGUAL_VOCABULARY = 51_865;
const END_OF_TEXT = '<|endoftext|>';

/**
 * Returns the byte strings of the base vocabulary in the order of their ids. Multilingual models end with an empty
 * token, English models with `<|endoftext|>`; the size of the embedding tells them apart.
 *
 * @param tokenizer parsed `tokenizer.json`
 */
export function baseVocabulary(tokenizer: unknown, vocabularySize: number, file: string): Buffer[] {
  const idByText = { ...textsOf(tokenizer, file) };
  if (vocabularySize < MULTILINGUAL_VOCABULARY) idByText[END_OF_TEXT] ??= BASE_TOKENS - 1;
  const byteOf = byteByCharacter();
  const tokens: (Buffer | undefined)[] = [];
  for (const [text, id] of Object.entries(idByText)) {
    if (typeof id !== 'number' || id >= BASE_TOKENS) continue;
    const bytes = Array.from(text, (character) => {
      const byte = byteOf.get(character);
      if (byte === undefined) throw formatError(file, `token ${id} is not in byte-level form`);
      return byte;
    });
    tokens[id] = Buffer.from(bytes);
  }
  return Array.from({ length: BASE_TOKENS }, (_, id) => {
    const token = tokens[id];
    if (!token) throw formatError(file, `it has no token ${id}`);
    return token;
  });
}

function textsOf(tokenizer: unknown, file: string): Record<string, unknown> {
  if (typeof tokenizer === 'object' && tokenizer !== null && 'model' in tokenizer) {
    const { model } = tokenizer;
    if (typeof model === 'object' && model !== null && 'vocab' in model) {
      const { vocab } = model;
      if (typeof vocab === 'object' && vocab !== null && !Array.isArray(vocab)) return { ...vocab };
    }
  }
  throw formatError(file, 'it has no model.vocab');
}

/**
 * Returns GPT-2's mapping of characters to bytes. A printable byte is written as its own character, any other byte as
 * the next free character from U+0100.
 */
function byteByCharacter(): Map<string, number> {
  const byteOf = new Map<string, number>();
  let spare = 0x100;
  for (let byte = 0; byte < 256; byte += 1) {
    const isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    byteOf.set(String.fromCharCode(isPrintable ? byte : spare++), byte);
  }
  return byteOf;
}
