import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { segmentOf, transcriptOf } from './fixtures/transcript.ts';
import { toText } from './text.ts';
import { toTsv } from './tsv.ts';

const Text = suite('transcripts as text and as a table');

const plain = transcriptOf(segmentOf(' One\ttwo.', [0, 1.25]), segmentOf(' ', [1, 2]), segmentOf(' Three.', [2, 3]));
const ada = { speaker: 'Ada' };
const spoken = transcriptOf(
  segmentOf(' Good', [0, 1], ada),
  segmentOf(' morning.', [1, 2], ada),
  segmentOf('', [2, 2], { speaker: 'Bob' }),
  segmentOf(' Hello.', [2, 3], { speaker: 'Bob' }),
  segmentOf(' Who?', [3, 4]),
);

Text('a text is one line, or a line for each turn of a speaker', () => {
  assert.is(toText(plain), 'One two. Three.\n');
  assert.is(toText(spoken), 'Ada: Good morning.\nBob: Hello.\nWho?\n');
  assert.is(toText(transcriptOf()), '');
});

Text('a table has milliseconds, and a column of speakers if there are speakers', () => {
  assert.is(toTsv(plain), 'start\tend\ttext\n0\t1250\tOne two.\n2000\t3000\tThree.\n');
  assert.is(
    toTsv(spoken),
    'start\tend\tspeaker\ttext\n0\t1000\tAda\tGood\n1000\t2000\tAda\tmorning.\n' +
      '2000\t3000\tBob\tHello.\n3000\t4000\t\tWho?\n',
  );
  assert.is(toTsv(transcriptOf()), 'start\tend\ttext\n');
});

Text.run();
