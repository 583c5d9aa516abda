import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { figuresOf } from './call-figures.ts';

const Figures = suite('the figures of a call');

const secondsOf = (args: Record<string, unknown>): number | undefined => figuresOf(false, args, undefined).audioSeconds;
const audio = (...seconds: number[]) => ({
  sample_rate: 16_000,
  channels: seconds.map((n) => ({ samples: n * 16_000 })),
});

Figures('count each audio of the arguments by its longest channel', () => {
  assert.is(secondsOf({ audio: audio(2) }), 2);
  assert.is(secondsOf({ audio: audio(2, 3) }), 3);
  assert.is(secondsOf({ audios: [audio(), audio(1, 2), audio(3)], text: 'a' }), 5);
  assert.is(secondsOf({ audios: [], none: null, options: { channels: 1, sample_rate: 2 } }), 0);
});

Figures('do not look at each item of a list without audio', () => {
  let reads = 0;
  const tokens = new Proxy(Array<number>(1000).fill(0), {
    get: (list, key) => (/^\d+$/.test(String(key)) && reads++, Reflect.get(list, key) as unknown),
  });
  assert.is(secondsOf({ tokens }), 0);
  assert.ok(reads <= 1, `${reads} items were read`);
});

Figures.run();
