// Maps that no text makes: the work and the number of boxes stay bounded.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { textBoxes } from './text-boxes.ts';

const Boxes = suite('boxes of texts');

type Shape = (x: number, y: number) => number;

const SIDE = 512;
const MIDDLE = SIDE / 2;
const radius: Shape = (x, y) => Math.hypot(x - MIDDLE, y - MIDDLE);
const shapes: Readonly<Record<string, Shape>> = {
  squares: (x, y) => Number(x % 8 < 5 && y % 8 < 5),
  'single places': (x, y) => (x + y) % 2,
  rows: (_, y) => Number(y % 4 < 2),
  columns: (x) => Number(x % 4 < 2),
  'a comb': (x, y) => Number(y < 4 || x % 4 < 2),
  'one area': () => 1,
  noise: () => Math.random(),
  rings: (x, y) => Number(radius(x, y) % 6 < 3),
  'a spiral': (x, y) => Number((radius(x, y) + 6 - (Math.atan2(y - MIDDLE, x - MIDDLE) / Math.PI) * 3) % 6 < 3),
  'no numbers': () => NaN,
};

Boxes('of any map are at most 1,000 and lie in the image', () => {
  const options = { boxThreshold: 0.5, unclipRatio: 1.6 };
  for (const [name, shape] of Object.entries(shapes)) {
    const probabilities = Float32Array.from({ length: SIDE * SIDE }, (_, at) =>
      shape(at % SIDE, Math.floor(at / SIDE)),
    );
    const boxes = textBoxes({ width: SIDE, height: SIDE, probabilities }, 1000, 300, options);
    assert.ok(boxes.length <= 1000, `${name}: ${boxes.length} boxes`);
    for (const [x, y] of boxes.flat())
      assert.ok(x >= 0 && x < 1000 && y >= 0 && y < 300, `${name}: a corner at ${x}, ${y}`);
  }
  const squares = Float32Array.from({ length: SIDE * SIDE }, (_, at) => shapes['squares']!(at % SIDE, (at / SIDE) | 0));
  assert.is(textBoxes({ width: SIDE, height: SIDE, probabilities: squares }, SIDE, SIDE, options).length, 1000);
});

Boxes.run();
