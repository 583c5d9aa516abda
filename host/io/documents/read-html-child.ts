// Main module of a child process that writes the text of a page of HTML to stdout, as Markdown. Argument: path.
import { readFile } from 'node:fs/promises';
import { HtmlText } from './html-text.ts';
import { textOfBytes } from './text-of-bytes.ts';
import { refuse, write } from './unreadable.ts';

/** Characters that are parsed at a time. The texts of many are written together. */
const PART = 2 ** 16;
/** Bytes at the beginning of a page in which its encoding is named. */
const HEAD = 1024;

const [path = ''] = process.argv.slice(2);
const bytes = await readFile(path);
const html = textOfBytes(bytes) ?? textOfBytes(bytes, namedEncoding(bytes));
if (html === undefined) refuse('is no text in UTF-8 or UTF-16, and names no other encoding that it is in');
let pending: string[] = [];
let hasText = false;
const page = new HtmlText((text) => pending.push(text));
const flush = async (): Promise<void> => {
  const text = pending.join('');
  pending = [];
  hasText ||= text !== '';
  await write(text);
};
for (let at = 0; at < html.length; at += PART) {
  page.add(html.slice(at, at + PART));
  await flush();
}
page.end();
await flush();
if (!hasText) refuse('has no text');
process.exit(0);

function namedEncoding(page: Buffer): string {
  const head = page.subarray(0, HEAD).toString('latin1');
  return /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)?.[1] ?? 'utf-8';
}
