import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { formatError } from './format-error.ts';

/** More than any model describes: the largest tokenizers have 20 MB. */
const MOST_BYTES = 100_000_000;

/** Returns the value in a file beside a model. Throws `ModelFormatError`, with `hint` if the file cannot be read. */
export async function readJsonFile(file: string, hint: string): Promise<unknown> {
  const label = path.basename(file);
  let text: string;
  try {
    if ((await stat(file)).size > MOST_BYTES) throw formatError(label, 'the file is too large');
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw formatError(label, `it cannot be read; ${hint}`, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw formatError(label, 'it is not JSON', error);
  }
}
