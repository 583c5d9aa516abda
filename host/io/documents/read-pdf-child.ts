// Main module of a child process that writes the text of a PDF to stdout. Arguments: path, greatest number of pages.
import { readFile } from 'node:fs/promises';
import { getDocumentProxy } from 'unpdf';
import { refuse, write } from './unreadable.ts';

const [path = '', maxPages = ''] = process.argv.slice(2);

/** Control characters that no text has, and that fonts without a table of characters give. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const NO_TEXT = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Called with every error of the library, also those that it leaves unhandled, because the file caused it. */
function refuseFor(error: unknown): never {
  const { name, message } = error instanceof Error ? error : { name: '', message: String(error) };
  if (name === 'PasswordException') refuse('needs a password');
  refuse(`is damaged: ${message.replaceAll(/\s+/g, ' ').slice(0, 200)}`);
}
process.on('uncaughtException', refuseFor);
process.on('unhandledRejection', refuseFor);

/** A piece of a text on a page. Marks of structure have no `str`. */
interface Piece {
  readonly str?: string;
  readonly hasEOL?: boolean;
}

const data = new Uint8Array(await readFile(path));
const document = await getDocumentProxy(data, { verbosity: 0 });
if (document.numPages > Number(maxPages))
  refuse(`has ${document.numPages} pages: the server reads PDFs of up to ${maxPages}`);
let hasText = false;
for (let n = 1; n <= document.numPages; n++) {
  const page = await document.getPage(n);
  if (n > 1) await write('\n\n');
  const reader = page.streamTextContent().getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const { items } = next.value as { readonly items: readonly Piece[] };
    const text = items.map(({ str = '', hasEOL }) => str.replaceAll(NO_TEXT, '') + (hasEOL ? '\n' : '')).join('');
    hasText ||= text.trim() !== '';
    await write(text);
  }
  page.cleanup();
}
if (!hasText) refuse('has no text that can be read, as a scan has none; give its text, or its pages as images');
process.exit(0);
