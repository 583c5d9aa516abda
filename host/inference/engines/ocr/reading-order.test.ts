import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Point, Quad } from './pixels.ts';
import { angleOf, inReadingOrder } from './reading-order.ts';

const Order = suite('the order of reading');

/** Lines and columns of a page: words of 100 × 20 pixels that stand 40 pixels apart. */
const pages = fc
  .array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 })
  .map((columns) =>
    columns.flatMap((count, row) =>
      Array.from({ length: count }, (_, column) => ({ text: `${row}.${column}`, x: column * 140, y: row * 60 })),
    ),
  );

/** Returns the box of a word on a page that is turned by quarters, clockwise. */
function turnedBox(x: number, y: number, quarters: number): Quad {
  const corners = [
    [x, y],
    [x + 100, y + 20],
  ].map(([left, top]): Point => {
    let at: Point = [left!, top!];
    for (let n = 0; n < quarters; n += 1) at = [1000 - at[1], at[0]];
    return at;
  });
  const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]!).toSorted((a, b) => a - b));
  const [left, right] = xs as [number, number];
  const [top, bottom] = ys as [number, number];
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}

Order('is that of the page, whichever way it is turned', () => {
  fc.assert(
    fc.property(pages, fc.integer({ min: 0, max: 3 }), fc.nat(), (words, quarters, seed) => {
      const lines = words.map(({ text, x, y }) => {
        const box = turnedBox(x, y, quarters);
        return { text, box, angle: angleOf(box, quarters >= 2) };
      });
      for (const { angle } of lines) assert.is(angle, [0, 90, 180, -90][quarters]);
      const shuffled = lines.toSorted((a, b) => hash(a.text, seed) - hash(b.text, seed));
      assert.equal(
        inReadingOrder(shuffled).map(({ text }) => text),
        words.map(({ text }) => text),
      );
    }),
  );
});

Order('of a page without lines is empty', () => assert.equal(inReadingOrder([]), []));

const hash = (text: string, seed: number): number =>
  [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, seed % 9973);

Order.run();
