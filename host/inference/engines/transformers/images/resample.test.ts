import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { part, type Picture, resized } from './resample.ts';

const Resample = suite('sizes of pictures');

/** A picture with one channel, whose rows are given. */
const picture = (...rows: readonly (readonly number[])[]): Picture => ({
  data: Uint8Array.from(rows.flat()),
  width: rows[0]?.length ?? 0,
  height: rows.length,
  channels: 1,
});
const rowsOf = ({ data, width, height, channels }: Picture): number[][] =>
  Array.from({ length: height }, (_, y) => [...data.subarray(y * width * channels, (y + 1) * width * channels)]);

const RAMP = picture(
  [0, 50, 100, 150, 200, 250],
  [10, 60, 110, 160, 210, 255],
  [0, 0, 255, 255, 0, 0],
  [9, 8, 7, 6, 5, 4],
);

/** What Pillow 13 makes of it: `Image.fromarray(rows).resize((width, height), resample)`. */
const EXPECTED: readonly (readonly [resample: string, rows: readonly (readonly number[])[]])[] = [
  [
    'nearest',
    [
      [60, 160, 255],
      [8, 6, 4],
    ],
  ],
  [
    'nearest',
    [
      [0, 50, 50, 100, 150, 200, 200, 250],
      [10, 60, 60, 110, 160, 210, 210, 255],
      [0, 0, 0, 255, 255, 0, 0, 0],
      [0, 0, 0, 255, 255, 0, 0, 0],
      [9, 8, 8, 7, 6, 5, 5, 4],
    ],
  ],
  [
    'lanczos',
    [
      [29, 151, 215],
      [16, 116, 28],
    ],
  ],
  [
    'lanczos',
    [
      [0, 25, 72, 107, 146, 175, 219, 247],
      [6, 37, 76, 90, 133, 194, 254, 255],
      [8, 18, 98, 222, 241, 152, 116, 131],
      [7, 0, 63, 191, 187, 51, 0, 0],
      [9, 9, 3, 0, 0, 2, 10, 9],
    ],
  ],
  [
    'bilinear',
    [
      [40, 139, 192],
      [25, 104, 49],
    ],
  ],
  [
    'bilinear',
    [
      [0, 31, 69, 106, 144, 181, 219, 250],
      [7, 38, 76, 113, 151, 188, 225, 254],
      [5, 21, 88, 186, 205, 144, 114, 128],
      [3, 2, 70, 181, 180, 69, 1, 1],
      [9, 8, 8, 7, 6, 5, 5, 4],
    ],
  ],
  [
    'bicubic',
    [
      [32, 145, 210],
      [17, 114, 31],
    ],
  ],
  [
    'bicubic',
    [
      [0, 28, 69, 106, 144, 181, 222, 253],
      [6, 38, 76, 103, 144, 196, 244, 255],
      [3, 19, 89, 202, 221, 146, 115, 127],
      [2, 0, 66, 195, 192, 57, 0, 0],
      [9, 8, 5, 0, 0, 1, 5, 4],
    ],
  ],
  [
    'box',
    [
      [30, 130, 229],
      [5, 131, 3],
    ],
  ],
  [
    'box',
    [
      [0, 50, 50, 100, 150, 200, 200, 250],
      [10, 60, 60, 110, 160, 210, 210, 255],
      [0, 0, 0, 255, 255, 0, 0, 0],
      [0, 0, 0, 255, 255, 0, 0, 0],
      [9, 8, 8, 7, 6, 5, 5, 4],
    ],
  ],
  [
    'hamming',
    [
      [32, 134, 217],
      [10, 122, 16],
    ],
  ],
  [
    'hamming',
    [
      [0, 38, 62, 101, 149, 188, 212, 250],
      [9, 47, 71, 110, 158, 197, 220, 254],
      [5, 24, 66, 183, 207, 129, 111, 128],
      [1, 1, 54, 224, 224, 53, 1, 0],
      [9, 8, 8, 7, 6, 5, 5, 4],
    ],
  ],
];

for (const [resample, expected] of EXPECTED) {
  const [width, height] = [expected[0]?.length ?? 0, expected.length];
  Resample(`are those of Pillow with ${resample} and ${width} times ${height} pixels`, () =>
    assert.equal(rowsOf(resized(RAMP, width, height, resample)), expected),
  );
}

Resample('a part outside of the picture is black', () => {
  const small = picture([1, 2], [3, 4]);
  assert.equal(rowsOf(part(small, 1, 0, { width: 1, height: 2 })), [[2], [4]]);
  assert.equal(rowsOf(part(small, -1, -1, { width: 4, height: 3 })), [
    [0, 0, 0, 0],
    [0, 1, 2, 0],
    [0, 3, 4, 0],
  ]);
  assert.equal(rowsOf(part(small, 5, 5, { width: 1, height: 1 })), [[0]]);
});

Resample.run();
