import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { segmentOf, transcriptOf } from './fixtures/transcript.ts';
import { toSrt } from './srt.ts';

const Srt = suite('SubRip subtitles');

Srt('are numbered, with times in milliseconds', () => {
  assert.is(
    toSrt(transcriptOf(segmentOf(' Hello there.', [0, 1.5]), segmentOf(' Good\nmorning.  ', [1.5, 3661.0004]))),
    '1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n2\n00:00:01,500 --> 01:01:01,000\nGood morning.\n',
  );
});

Srt('of silence are empty, and segments without text are left out', () => {
  assert.is(toSrt(transcriptOf()), '');
  assert.is(
    toSrt(transcriptOf(segmentOf(' \r\n ', [0, 1]), segmentOf('a', [1, 2]))),
    '1\n00:00:01,000 --> 00:00:02,000\na\n',
  );
});

Srt('have hours above 99', () => {
  assert.match(toSrt(transcriptOf(segmentOf('late', [359_999.9996, 400_000]))), '100:00:00,000 --> 111:06:40,000');
});

Srt('name the speaker, and contain no second line of times', () => {
  assert.is(
    toSrt(transcriptOf(segmentOf(' a --> b <i>', [0, 1], { speaker: 'Ada\n\nL.' }))),
    '1\n00:00:00,000 --> 00:00:01,000\nAda L.: a -> b <i>\n',
  );
});

Srt('are shown at least a millisecond, whatever the times are', () => {
  const odd = [segmentOf('a', [2, 1]), segmentOf('b', [Number.NaN, Infinity]), segmentOf('c', [-1, 0])];
  assert.equal(toSrt(transcriptOf(...odd)).match(/.*-->.*/g), [
    '00:00:00,000 --> 00:00:00,001',
    '00:00:00,000 --> 00:00:00,001',
    '00:00:02,000 --> 00:00:02,001',
  ]);
});

const words = [
  [' one', 0.2, 0.5],
  [' two', 0.5, 0.9],
  [',', 0.9, 1],
  [' three', 1.2, 2],
] as const;
const counted = segmentOf(' one two, three', [0, 3], { words });

Srt('divide a segment at the times of its words', () => {
  assert.is(
    toSrt(transcriptOf(counted), { max_line_width: 8, max_line_count: 1 }),
    '1\n00:00:00,000 --> 00:00:01,000\none two,\n\n2\n00:00:01,200 --> 00:00:03,000\nthree\n',
  );
  assert.is(
    toSrt(transcriptOf(counted), { max_line_width: 8, max_line_count: 2 }),
    '1\n00:00:00,000 --> 00:00:03,000\none two,\nthree\n',
  );
});

Srt('divide a segment by the lengths of its lines if its words are unknown', () => {
  assert.is(
    toSrt(transcriptOf(segmentOf('ab cdefgh', [0, 4])), { max_line_width: 6, max_line_count: 1 }),
    '1\n00:00:00,000 --> 00:00:00,889\nab\n\n2\n00:00:01,333 --> 00:00:04,000\ncdefgh\n',
  );
});

Srt('underline each word while it is spoken', () => {
  assert.equal(toSrt(transcriptOf(counted), { highlight_words: true }).split('\n\n'), [
    '1\n00:00:00,000 --> 00:00:00,200\none two, three',
    '2\n00:00:00,200 --> 00:00:00,500\n<u>one</u> two, three',
    '3\n00:00:00,500 --> 00:00:00,900\none <u>two</u>, three',
    '4\n00:00:00,900 --> 00:00:01,000\none two<u>,</u> three',
    '5\n00:00:01,000 --> 00:00:01,200\none two, three',
    '6\n00:00:01,200 --> 00:00:02,000\none two, <u>three</u>',
    '7\n00:00:02,000 --> 00:00:03,000\none two, three\n',
  ]);
});

Srt('show the whole text of a segment whose words do not have it', () => {
  const other = segmentOf(' one two', [0, 1], { words: [[' one', 0, 0.5]] });
  assert.is(toSrt(transcriptOf(other), { highlight_words: true }), '1\n00:00:00,000 --> 00:00:01,000\none two\n');
});

Srt('go on after words whose times are not in order', () => {
  const odd = segmentOf(' a b c', [1, 2], {
    words: [
      [' a', 1.8, 1.2],
      [' b', 0, 9],
      [' c', 1.5, 1.5],
    ],
  });
  assert.equal(toSrt(transcriptOf(odd), { highlight_words: true }).match(/^\d\d:.*$/gm), [
    '00:00:01,000 --> 00:00:01,800',
    '00:00:01,800 --> 00:00:02,000',
  ]);
});

Srt('keep a word that is cut between two subtitles', () => {
  const long = segmentOf(' abcdef', [0, 6], { words: [[' abcdef', 0, 6]] });
  assert.equal(
    toSrt(transcriptOf(long), { max_line_width: 3, max_line_count: 1, highlight_words: true }).split('\n\n'),
    ['1\n00:00:00,000 --> 00:00:03,000\n<u>abc</u>', '2\n00:00:03,000 --> 00:00:06,000\n<u>def</u>\n'],
  );
});

Srt.run();
