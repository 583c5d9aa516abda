// Reads documents of all types, HTML and PDFs in real child processes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../base/core/errors.ts';
import { splitText } from '../../base/splitting/index.ts';
import { encryptedPdf, textPdf } from './fixtures/pdfs.ts';
import { HtmlText } from './html-text.ts';
import { type DocumentText, readDocument, type ReadDocumentOptions } from './read-document.ts';

const Documents = suite('readDocument');
const folder = mkdtempSync(join(tmpdir(), 'aana-documents-'));
Documents.after(() => rmSync(folder, { recursive: true }));

function read(name: string, bytes: string | Uint8Array, options?: ReadDocumentOptions): Promise<DocumentText> {
  writeFileSync(join(folder, name), bytes);
  return readDocument(join(folder, name), options);
}

const errorOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => 'no error',
    ({ name, message }: AanaError) => `${name}: ${message}`,
  );

/** The text of a page of HTML, in this process. */
function textOf(html: string): string {
  let text = '';
  const page = new HtmlText((part) => (text += part));
  page.add(html);
  page.end();
  return text.trim();
}

Documents('reads text and Markdown in UTF-8 and UTF-16', async () => {
  const text = '# Tee\n\nGrüner Tee, 75 °C 🍵';
  const swapped = Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();
  for (const bytes of [text, `\uFEFF${text}`, Buffer.from(`\uFEFF${text}`, 'utf16le'), swapped])
    assert.equal(await read('tea.md', bytes), { kind: 'markdown', text });
  assert.equal(await read('tea', text, { type: 'text/plain; charset=utf-8' }), { kind: 'text', text });
  assert.equal(await read('TEA.PY', text), { kind: 'text', text });
  assert.equal(await read('tea.md', text, { type: 'application/octet-stream' }), { kind: 'markdown', text });
});

Documents('reads subtitles with their times', async () => {
  const srt = '1\n00:00:01,000 --> 00:00:02,500\nGreen tea.\n';
  const document = await read('tea.srt', srt);
  assert.ok(document.kind === 'transcript');
  assert.equal(
    document.segments.map(({ text, time_interval }) => [text, time_interval]),
    [[' Green tea.', { start: 1, end: 2.5 }]],
  );
});

Documents('reads the pages of a PDF', async () => {
  assert.equal(await read('tea.pdf', textPdf('Green tea', 'Black tea')), {
    kind: 'text',
    text: 'Green tea\n\nBlack tea',
  });
});

Documents('reads HTML with its headings, lists, tables and code', async () => {
  const page = `<!doctype html><html><head><title>All about
    tea</title><style>p { color: red }</style><script>alert('<p>no')</script></head>
    <body><h1>Tea &amp; water</h1><p>Green <b>tea</b>:<br>75&nbsp;°C.<p># 1 of all</p>
    <ul><li>cups<li><p>pots</p></ul><h2>Times<br>in minutes</h2>
    <table><tr><th>kind<th>time</tr><tr><td>green</td><td>2</td></tr></table>
    <pre>let a = 1;\n\n# no heading\n</pre><svg><text>hidden</text></svg><div>End</div></body></html>`;
  const document = await read('tea.html', page);
  assert.equal(document, {
    kind: 'markdown',
    text:
      '# All about tea\n\n# Tea & water\n\nGreen tea:\n75 °C.\n\n\\# 1 of all\n\n- cups\n\n- pots\n\n' +
      '## Times in minutes\n\nkind | time\n\ngreen | 2\n\n```\nlet a = 1;\n\n# no heading\n```\n\nEnd\n\n',
  });
  const chunks = await splitText(document.kind === 'markdown' ? document.text : '', { kind: 'markdown' });
  assert.equal(
    chunks.map(({ headings }) => headings),
    [['Tea & water'], ['Tea & water', 'Times in minutes']],
  );
});

Documents('reads HTML in the encoding that it names', async () => {
  const page = Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><p>Grün', 'latin1');
  assert.equal(await read('tea.html', page), { kind: 'markdown', text: 'Grün\n\n' });
});

Documents('keeps the words of any page in their order', () => {
  const names = fc.constantFrom('p', 'b', 'div', 'li', 'ul', 'h2', 'td', 'tr', 'table', 'pre', 'br', 'a href="x>y"');
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  const tag = fc
    .tuple(fc.boolean(), names)
    .map(([isOpen, name]) => (isOpen ? `<${name}>` : `</${name.split(' ')[0]}>`));
  fc.assert(
    fc.property(fc.array(fc.oneof(word, tag), { maxLength: 60 }), (pieces) => {
      const words = pieces.filter((piece) => !piece.startsWith('<'));
      assert.equal(textOf(pieces.join(' ')).match(/[a-z]+/g) ?? [], words);
    }),
  );
});

const pages: readonly (readonly [what: string, html: string])[] = [
  ['open elements', '<div>'.repeat(30_000)],
  ['open and closed elements of other names', '<b>'.repeat(20_000) + '</i>'.repeat(20_000)],
  ['attributes', `<p ${'a=b '.repeat(200_000)}>`],
  ['unfinished tags', '<a '.repeat(200_000)],
  ['entities', '&lt'.repeat(200_000)],
  ['comments', '<!--'.repeat(200_000)],
];
for (const [what, html] of pages)
  Documents(`reads or refuses hostile HTML: ${what}`, async () => {
    const reading = read('hostile.html', `<p>Tea</p>${html}`);
    const text = await reading.then(
      (document) => (document.kind === 'markdown' ? document.text : ''),
      (error: AanaError) => `${error.name}: ${error.message}`,
    );
    assert.match(text, /^(Tea\n|UnreadableDocument: the file "hostile.html" takes (longer|more) than )/);
  });

Documents('names the file and the reason in errors', async () => {
  const long = 'x'.repeat(1001);
  const refused: readonly (readonly [reading: () => Promise<unknown>, error: RegExp])[] = [
    [
      () => read('tea.docx', 'PK'),
      /^UnsupportedDocument: the file "tea\.docx" has the extension \.docx, .* \.pdf, \.html/,
    ],
    [() => read('tea', 'tea'), /^UnsupportedDocument: the file "tea" has no extension, and no type is given; .* \.pdf/],
    [
      () => read('tea.txt', 'tea', { type: 'image/png' }),
      /has the type image\/png; a document is text\/\*, application\/pdf/,
    ],
    [() => read('a.txt', 'tea', { name: 'tea.bin' }), /the file "tea\.bin" has the extension \.bin/],
    [
      () => read('tea.md', Buffer.from([0x54, 0xe9, 0x65])),
      /^UnreadableDocument: the file "tea\.md" is no text in UTF-8/,
    ],
    [() => read('tea.txt', 'te\0a'), /is no text in UTF-8 or UTF-16$/],
    [() => read('tea.txt', ' \n'), /^UnreadableDocument: the file "tea\.txt" has no text$/],
    [() => read('tea.txt', long, { maxBytes: 1000 }), /has more than 1000 bytes of text$/],
    [() => read('tea.txt', long.repeat(3), { maxBytes: 1000 }), /has more than 1000 bytes of text$/],
    [() => read('tea.html', `<p>${long}`, { maxBytes: 1000 }), /has more than 1000 bytes of text$/],
    [() => read('empty.html', '<script>tea</script>'), /the file "empty\.html" has no text$/],
    [() => read('bytes.html', Buffer.from([0xff, 0x00])), /is no text in UTF-8 or UTF-16, and names no other encoding/],
    [() => read('tea.pdf', encryptedPdf()), /^UnreadableDocument: the file "tea\.pdf" needs a password$/],
    [
      () => read('tea.srt', '1\n00:00:01,000 --> 00:00:02,000\nTea\n\n'.repeat(120_000)),
      /the file "tea\.srt" has more than 4194304 bytes of text$/,
    ],
    [() => read('tea.vtt', 'WEBVTT'), /the file "tea\.vtt" has no subtitles with a text and its times$/],
    [
      () => readDocument(join(folder, 'none.txt')),
      /^FileNotFoundError: the file "none\.txt" does not exist, or is no file$/,
    ],
    [() => readDocument(folder, { type: 'text/plain' }), /^FileNotFoundError: /],
  ];
  for (const [reading, error] of refused) assert.match(await errorOf(reading()), error);
});

Documents('ends when the signal aborts', async () => {
  const leaving = new AbortController();
  const reading = read('tea.html', '<p>tea', { signal: leaving.signal });
  leaving.abort(new Error('the caller left'));
  assert.is(await errorOf(reading), 'Error: the caller left');
});

Documents.run();
