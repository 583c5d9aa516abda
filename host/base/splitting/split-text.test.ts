import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { charactersOf } from '../transcripts/lines.ts';
import { type DocumentChunk, splitText, type SplitTextOptions } from './split-text.ts';
import { estimatedTokens, type TokenCounter } from './tokens.ts';

const Split = suite('splitText');

/** Words, and two tokens around each text, as models for embeddings have them. */
const words: TokenCounter = (text) => 2 + text.split(/\s+/).length;
/** A token for each code point, as for a script that the model does not know. */
const codePoints: TokenCounter = async (text) => [...text].length;
const COUNTERS: readonly TokenCounter[] = [words, codePoints, estimatedTokens];

const piece = fc.oneof(
  fc.lorem({ maxCount: 12, mode: 'sentences' }),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '\n',
    '\n\n',
    '\r\n\r\n',
    ' ',
    '。',
    '漢字'.repeat(40),
    'あいう。'.repeat(9),
    '👩‍👩‍👧‍👦🇫🇷🇩🇪'.repeat(9),
    'x'.repeat(300),
  ),
  fc.constantFrom('# One\n', '\n## Two\n\n', '```\n# no heading\n```\n', 'Title\n===\n', `a${'\u0301'.repeat(200)}`),
);
const texts = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
const kinds = fc.constantFrom('text' as const, 'markdown' as const);

/** Checks what holds for all chunks. */
async function check(text: string, options: SplitTextOptions & { maxTokens: number; overlapTokens: number }) {
  const { maxTokens, overlapTokens, countTokens = estimatedTokens } = options;
  const chunks = await splitText(text, options);
  const graphemes = new Set<number>();
  let [at, covered] = [0, 0];
  for (const character of charactersOf(text)) graphemes.add((at += character.length) - character.length);
  for (const [n, chunk] of chunks.entries()) {
    assert.is(chunk.text, text.slice(chunk.start, chunk.end));
    assert.is(chunk.text, chunk.text.trim());
    assert.ok(chunk.text !== '' && (await countTokens(chunk.text)) <= maxTokens, JSON.stringify(chunk));
    assert.is(text.slice(covered, chunk.start).trim(), '', 'text between chunks');
    assert.ok(chunk.end > covered, 'a chunk without anything new');
    const repeated = text.slice(chunk.start, covered).trim();
    if (repeated !== '') assert.ok((await countTokens(repeated)) <= overlapTokens, 'too much is repeated');
    covered = chunk.end;
    assert.not.ok(/^[\udc00-\udfff]/.test(chunk.text) && /[\ud800-\udbff]$/.test(text.slice(0, chunk.start)));
    // A character that is longer than a chunk is cut, and then nothing is known about the next ones.
    if (!/\u0301{16}/.test(text) && n > 0)
      assert.ok(graphemes.has(chunk.start), `a character is cut at ${chunk.start}`);
  }
  assert.is(text.slice(covered).trim(), '');
  return chunks;
}

Split('divides any text: nothing is lost, no chunk is too long, no character is cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      texts,
      kinds,
      fc.constantFrom(...COUNTERS),
      fc.integer({ min: 24, max: 200 }),
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      async (text, kind, countTokens, maxTokens, share) => {
        await check(text, { kind, countTokens, maxTokens, overlapTokens: Math.floor(maxTokens * share) });
      },
    ),
    { numRuns: 500 },
  );
});

for (const [what, long] of [
  ['one word', 'x'.repeat(1_000_000)],
  ['one character with marks', `a${'\u0301'.repeat(1_000_000)}`],
  ['flags', '🇫🇷'.repeat(250_000)],
  ['full stops', '.'.repeat(1_000_000)],
  ['white space', `a${' \n'.repeat(500_000)}b`],
  ['headings', '# A\n'.repeat(250_000)],
] as const)
  Split(`divides a million characters of ${what} with few counts`, async () => {
    let counted = 0;
    const countTokens = (text: string): number => {
      counted += text.length;
      return estimatedTokens(text);
    };
    await check(long, { maxTokens: 800, overlapTokens: 400, countTokens, kind: 'markdown' });
    assert.ok(counted < 20 * long.length, `${counted} characters were counted`);
  });

const options = { maxTokens: 16, overlapTokens: 0, countTokens: words } as const;
const textsOf = (chunks: readonly DocumentChunk[]): string[] => chunks.map(({ text }) => text);

Split('ends between paragraphs, else lines, sentences and words', async () => {
  const sentence = (first: string): string => `${first} two three four five.`;
  assert.equal(textsOf(await splitText(`${sentence('a')} ${sentence('b')}\n\n${sentence('c')}`, options)), [
    `${sentence('a')} ${sentence('b')}`,
    sentence('c'),
  ]);
  assert.equal(textsOf(await splitText(`a b c ${sentence('d')}\n${sentence('e')} ${sentence('f')}`, options)), [
    `a b c ${sentence('d')}`,
    `${sentence('e')} ${sentence('f')}`,
  ]);
  assert.equal(textsOf(await splitText(`${sentence('a')} ${sentence('b')} ${sentence('c')}`, options)), [
    `${sentence('a')} ${sentence('b')}`,
    sentence('c'),
  ]);
});

Split('repeats whole sentences where the overlap has room', async () => {
  const sentences = [
    'One two three four five.',
    'Six seven.',
    'Eight nine ten.',
    'Eleven twelve.',
    'End of all things.',
  ];
  const chunks = await splitText(sentences.join(' '), { ...options, overlapTokens: 8 });
  assert.equal(textsOf(chunks), [
    'One two three four five. Six seven. Eight nine ten. Eleven twelve.',
    'Eight nine ten. Eleven twelve. End of all things.',
  ]);
});

Split('a chunk of Markdown has the headings of its section and text of no other one', async () => {
  const markdown =
    '---\ntitle: no heading\n---\nBefore.\n\n# Tea #\n\n## Green\n75 °C.\n```sh\n# a comment\n```\n' +
    'Black\n-----\nBoiling.\n\n- an item\n---\n#no heading\n# Coffee\n';
  const chunks = await splitText(markdown, { kind: 'markdown', maxTokens: 100, overlapTokens: 0 });
  assert.equal(
    chunks.map(({ headings }) => headings),
    [[], ['Tea', 'Green'], ['Tea', 'Black'], ['Coffee']],
  );
  assert.match(chunks[1]?.text ?? '', /^# Tea #\n\n## Green\n75 °C\.[^]*a comment\n```$/);
  assert.match(chunks[2]?.text ?? '', /^Black\n-----\nBoiling[^]*#no heading$/);
  assert.equal(textsOf(await splitText(markdown, { maxTokens: 100 })).length, 1);
});

Split('has no chunk for a text without words', async () => {
  for (const kind of ['text', 'markdown'] as const) assert.equal(await splitText(' \n\t ', { kind }), []);
});

Split('lets other work go on, whatever the text is made of', async () => {
  for (const kind of ['text', 'markdown'] as const)
    for (const line of ['#\n', 'a\n', '# a\n', 'a\n=\n', '- \n', '```\n', 'a ', '漢'])
      for (const before of ['', '```\n']) {
        let isOver = false;
        let turns = 0;
        const work = splitText(before + line.repeat(2 ** 19 / line.length), { kind }).finally(() => (isOver = true));
        while (!isOver) {
          await new Promise(setImmediate);
          turns += 1;
        }
        await work;
        assert.ok(turns >= 3, `${kind}, ${JSON.stringify(before + line)}: ${turns} turns`);
      }
});

Split('refuses options out of their range, and counters that return no number', async () => {
  const errorOf = (given: unknown): Promise<string> =>
    splitText('Some text', given as SplitTextOptions).then(
      () => 'no error',
      (error: Error) => `${error.name}: ${error.message}`,
    );
  assert.is(await errorOf({ maxTokens: 15 }), 'RangeError: maxTokens must be an integer from 16 to 1000000, not 15');
  assert.is(await errorOf({ maxTokens: NaN }), 'RangeError: maxTokens must be an integer from 16 to 1000000, not NaN');
  assert.is(
    await errorOf({ maxTokens: 100, overlapTokens: 51 }),
    'RangeError: overlapTokens must be an integer from 0 to 50, not 51',
  );
  assert.is(await errorOf({ kind: 'html' }), 'RangeError: kind must be text or markdown, not html');
  assert.is(
    await errorOf({ countTokens: () => undefined }),
    'TypeError: countTokens must return the number of tokens, not undefined',
  );
  assert.is(
    await errorOf({ countTokens: () => 1000 }),
    'RangeError: maxTokens is too small: the character "S" alone has more tokens',
  );
});

Split.run();
