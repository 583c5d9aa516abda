import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { condenseNotes } from './notes.ts';
import { splitParts } from './split.ts';
import { transcriptPieces } from './transcript.ts';

/** Counts one token for each word. */
const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;
const countTokens = (text: string): Promise<number> => Promise.resolve(countWords(text));
const transcript = (text: string) => ({
  segments: [],
  transcription_info: { language: 'en', language_confidence: 1 },
  transcription: { text },
});

const Split = suite('splitting a transcript');

Split('finds sentences', () => {
  assert.equal(transcriptPieces(transcript(' One is 1.5 metres. "Two?" he said.\nThree!')), [
    'One is 1.5 metres.',
    '"Two?"',
    'he said.',
    'Three!',
  ]);
  assert.equal(transcriptPieces(transcript('こんにちは。元気ですか？はい')), ['こんにちは。', '元気ですか？', 'はい']);
});

Split('finds no pieces in silence', () => {
  assert.equal(transcriptPieces(transcript(' \n')), []);
});

Split('cuts text without punctuation between words, and text without spaces between characters', () => {
  const words = transcriptPieces(transcript('word '.repeat(500)));
  assert.ok(words.length > 1 && words.every((piece) => piece.length <= 400 && /^word( word)*$/.test(piece)));
  const letters = transcriptPieces(transcript('あ'.repeat(1000)));
  assert.equal([letters.length, letters.join('').length], [3, 1000]);
});

Split('keeps a text that fits in one part', async () => {
  assert.equal(await splitParts(['a b.', 'c d.'], { maxTokens: 4, separator: '\n', countTokens }), ['a b.\nc d.']);
});

Split('makes parts of about equal length and keeps the order', async () => {
  const pieces = Array.from({ length: 100 }, (_, at) => `sentence number ${at} here.`);
  const parts = await splitParts(pieces, { maxTokens: 90, separator: '\n', countTokens });
  assert.equal(
    parts.flatMap((part) => part.split('\n')),
    pieces,
  );
  const sizes = parts.map(countWords);
  assert.ok(
    sizes.every((size) => size <= 90 && size >= 60),
    String(sizes),
  );
});

Split('keeps every part under the limit if tokens are spread unevenly, and cuts a piece over the limit', async () => {
  const dense = 'a b c d e f g h i j k l m n o p q r s t';
  const parts = await splitParts(['internationalization '.repeat(10).trim(), dense, dense], {
    maxTokens: 12,
    separator: '\n',
    countTokens,
  });
  assert.ok(
    parts.every((part) => countWords(part) <= 12),
    JSON.stringify(parts.map(countWords)),
  );
  assert.is(parts.join(' ').replace(/\s+/g, ' '), `${'internationalization '.repeat(10)}${dense} ${dense}`);
});

Split('drops repeated and cut-off lines of notes, and keeps the first lines of each part', () => {
  const note = (name: string) => Array.from({ length: 8 }, (_, at) => `- ${name} ${at}.`).join('\n');
  assert.equal(condenseNotes(['- A.\n- B.\n- A.', '- B.\n- C.\n- Cut off in the mid', '- A.']), [
    'Part 1: A. B.',
    'Part 2: C.',
  ]);
  assert.equal(condenseNotes([note('a'), note('b')]), [
    'Part 1: a 0. a 1. a 2. a 3. a 4.',
    'Part 2: b 0. b 1. b 2. b 3. b 4.',
  ]);
});

Split('gathers the notes of many parts in at most eight groups', () => {
  const groups = condenseNotes(
    Array.from({ length: 20 }, (_, at) => `- ${at} first.\n- ${at} second.\n- ${at} third.`),
  );
  assert.is(groups.length, 7);
  assert.is(groups[6], 'Part 7: 18 first. 18 second. 19 first. 19 second.');
});

Split('keeps lines without full stops', () => {
  assert.equal(condenseNotes(['- one\n- two', '- three']), ['Part 1: one two', 'Part 2: three']);
});

Split.run();
