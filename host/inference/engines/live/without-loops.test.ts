import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withoutLoops } from './without-loops.ts';

const Loops = suite('loops in a pass over live speech');

const cut = (text: string): string =>
  withoutLoops(text.split(' ').map((word) => ({ word: ` ${word}`, start: 0, end: 0, probability: 1 })))
    .map(({ word }) => word.trim())
    .join(' ');

Loops('are cut after the first time', () => {
  assert.is(cut('And if I let it fall, if I let it fall, if I let it fall, if I let'), 'And if I let it fall,');
  assert.is(cut('and so and so and so and so and so'), 'and so');
  assert.is(cut('the you you you you you'), 'the you');
});

Loops('are not what people repeat', () => {
  for (const text of ['no, no, no, no', 'bye bye', 'ask not what you can do ask what you can do', 'to be or not to be'])
    assert.is(cut(text), text);
});

Loops.run();
