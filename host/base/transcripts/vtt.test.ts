import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { segmentOf, transcriptOf } from './fixtures/transcript.ts';
import { toVtt } from './vtt.ts';

const Vtt = suite('WebVTT');

Vtt('has a head and a block for each segment', () => {
  assert.is(toVtt(transcriptOf()), 'WEBVTT\n');
  assert.is(
    toVtt(transcriptOf(segmentOf(' Hello.', [0, 1.5]), segmentOf(' Bye.', [1.5, 2]))),
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello.\n\n00:00:01.500 --> 00:00:02.000\nBye.\n',
  );
});

Vtt('escapes texts and names, so nothing in them is a tag, a voice or a line of times', () => {
  const text = ' R&D <b>1 < 2</b>\n\n00:00:09.000 --> 00:00:10.000\0';
  assert.is(
    toVtt(transcriptOf(segmentOf(text, [0, 1], { speaker: 'A & <B>\n-->' }))),
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n' +
      '<v A &amp; &lt;B&gt; --&gt;>R&amp;D &lt;b&gt;1 &lt; 2&lt;/b&gt; 00:00:09.000 --&gt; 00:00:10.000\ufffd\n',
  );
});

Vtt('is in the order of the beginnings where speakers overlap', () => {
  const first = segmentOf(' One.', [0, 5], { speaker: '0' });
  const later = segmentOf(' Three.', [6, 7], { speaker: '0' });
  const other = segmentOf(' Two.', [2, 6.5], { speaker: '1' });
  assert.equal(toVtt(transcriptOf(first, later, other)).match(/<v.*/g), ['<v 0>One.', '<v 1>Two.', '<v 0>Three.']);
});

Vtt('breaks lines and underlines words', () => {
  const spoken = segmentOf(' me & you', [0, 3], {
    words: [
      [' me', 0, 1],
      [' &', 1, 2],
      [' you', 2, 3],
    ],
  });
  assert.equal(toVtt(transcriptOf(spoken), { max_line_width: 4, highlight_words: true }).split('\n\n').slice(1), [
    '00:00:00.000 --> 00:00:01.000\n<u>me</u> &amp;\nyou',
    '00:00:01.000 --> 00:00:02.000\nme <u>&amp;</u>\nyou',
    '00:00:02.000 --> 00:00:03.000\nme &amp;\n<u>you</u>\n',
  ]);
});

Vtt('underlines words of a script without spaces', () => {
  const spoken = segmentOf('今日は', [0, 2], {
    words: [
      ['今日', 0, 1],
      ['は', 1, 2],
    ],
  });
  assert.equal(
    toVtt(transcriptOf(spoken), { max_line_width: 1, max_line_count: 2, highlight_words: true }).split('\n\n').slice(1),
    ['00:00:00.000 --> 00:00:01.000\n<u>今</u>\n<u>日</u>', '00:00:01.000 --> 00:00:02.000\n<u>は</u>\n'],
  );
});

Vtt.run();
