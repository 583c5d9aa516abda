import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { segmentOf, transcriptOf } from './fixtures/transcript.ts';
import { fromSubtitles } from './from-subtitles.ts';
import { oneLine } from './one-line.ts';
import { toSrt } from './srt.ts';
import { toVtt } from './vtt.ts';

const Subtitles = suite('fromSubtitles');

const transcripts = fc
  .array(
    fc.record({
      text: fc.oneof(fc.lorem({ maxCount: 8 }), fc.string({ unit: 'binary', maxLength: 40 })),
      speaker: fc.constantFrom(null, 'Ada', 'Bob & <Eve>'),
      ms: fc.integer({ min: 1, max: 9_000_000 }),
    }),
    { maxLength: 10 },
  )
  .map((given) => {
    let at = 0;
    return given
      .filter(({ text }) => oneLine(text) !== '')
      .map(({ text, speaker, ms }) => segmentOf(` ${oneLine(text)}`, [at / 1000, (at += ms) / 1000], { speaker }));
  });

Subtitles('reads back every transcript that toVtt writes', () => {
  fc.assert(
    fc.property(transcripts, (segments) => {
      const read = fromSubtitles(toVtt(transcriptOf(...segments)));
      const facts = ({ text, time_interval, speaker }: (typeof segments)[number]) => ({ text, time_interval, speaker });
      assert.equal(read.map(facts), segments.map(facts));
    }),
  );
});

Subtitles('reads the words and times of every transcript that toSrt writes', () => {
  fc.assert(
    fc.property(
      transcripts.map((segments) => segments.filter(({ text }) => !/[<>{}&]/.test(text))),
      (segments) => {
        const unnamed = segments.map((segment) => ({ ...segment, speaker: null }));
        const read = fromSubtitles(toSrt(transcriptOf(...unnamed)));
        assert.equal(
          read.map(({ text, time_interval }) => [text, time_interval]),
          unnamed.map(({ text, time_interval }) => [text, time_interval]),
        );
      },
    ),
  );
});

Subtitles('leaves out what is no subtitle, and all markup', () => {
  const vtt = [
    '\uFEFFWEBVTT - a film\nKind: captions',
    'NOTE\nnobody says this',
    'STYLE\n::cue { color: red }',
    'intro\n00:01.500 --> 00:03.000 align:start position:0%\n' +
      '<v.loud Ada>Good <i>morning</i>,\n&amp; hello.</v>\n<v Bob>Hi.',
    '00:00:05,000 --> 00:00:04,000\n{\\an8}It ends &quot;early&quot;.',
    '00:06.000 --> 00:07.000\n\n',
  ]
    .join('\n\n')
    .replaceAll('\n', '\r\n');
  assert.equal(
    fromSubtitles(vtt).map(({ text, speaker, time_interval: { start, end } }) => [text, speaker, start, end]),
    [
      [' Good morning, & hello.', 'Ada', 1.5, 3],
      [' Hi.', 'Bob', 1.5, 3],
      [' It ends "early".', null, 5, 5],
    ],
  );
  for (const text of ['', 'WEBVTT', 'a page\n\nof text', '1\n00:00 --> 00:01\nno milliseconds'])
    assert.equal(fromSubtitles(text), []);
});

Subtitles('reads megabytes of open tags', () => {
  for (const piece of ['<v ', '<v.', '<', '{\\', '&amp', '00:01.000 --> 00:02.000 '])
    assert.ok(fromSubtitles(`00:01.000 --> 00:02.000\n${piece.repeat(1_000_000)}`).length <= 1);
});

Subtitles.run();
