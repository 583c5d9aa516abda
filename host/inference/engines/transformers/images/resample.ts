// Sizes of pictures, as Pillow changes them, with which models were trained.

/** Pixels row by row, with `channels` bytes each. */
export interface Picture {
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

interface Filter {
  /** Distance from which on pixels do not count, in pixels of the smaller picture. */
  readonly support: number;
  weight(distance: number): number;
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const BICUBIC_A = -0.5;

/** The filters by Pillow's numbers; the number 0 takes the nearest pixel. */
const FILTERS: Readonly<Record<number, Filter>> = {
  1: { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) }, // Lanczos
  2: { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) }, // bilinear
  3: {
    support: 2,
    weight(distance) {
      const x = Math.abs(distance);
      if (x < 1) return ((BICUBIC_A + 2) * x - (BICUBIC_A + 3)) * x * x + 1;
      return x < 2 ? (((x - 5) * x + 8) * x - 4) * BICUBIC_A : 0;
    },
  },
  4: { support: 0.5, weight: (x) => (x > -0.5 && x <= 0.5 ? 1 : 0) }, // box
  5: { support: 1, weight: (x) => (Math.abs(x) < 1 ? sinc(x) * (0.54 + 0.46 * Math.cos(Math.PI * x)) : 0) }, // Hamming
};
const NUMBERS: Readonly<Record<string, number>> = {
  nearest: 0,
  lanczos: 1,
  bilinear: 2,
  bicubic: 3,
  box: 4,
  hamming: 5,
};

/** Where the pixels of one place of the new picture come from. */
interface Source {
  readonly first: number;
  /** Whole numbers, whose sum is about {@link ONE}. */
  readonly weights: readonly number[];
}

/** Weights are multiples of its inverse, as in Pillow, so that sums are rounded as there. */
const ONE = 2 ** 22;

/** Returns the picture with another size. `resample` is a number or a name of Pillow. */
export function resized(picture: Picture, width: number, height: number, resample: number | string): Picture {
  const number = typeof resample === 'string' ? (NUMBERS[resample] ?? Number.NaN) : resample;
  if (number !== 0 && !FILTERS[number]) throw new Error(`the resampling ${resample} is not known`);
  const columns = sources(picture.width, width, number);
  const rows = sources(picture.height, height, number);
  return alongRows(alongColumns(picture, columns), rows);
}

function sources(from: number, to: number, number: number): Source[] {
  const scale = from / to;
  const filter = FILTERS[number];
  return Array.from({ length: to }, (_, at) => {
    const centre = (at + 0.5) * scale;
    if (!filter) return { first: Math.min(from - 1, Math.floor(centre)), weights: [ONE] };
    const stretch = Math.max(1, scale);
    const support = filter.support * stretch;
    const first = Math.max(0, Math.trunc(centre - support + 0.5));
    const end = Math.min(from, Math.trunc(centre + support + 0.5));
    const weights = Array.from({ length: end - first }, (__, index) =>
      filter.weight((first + index - centre + 0.5) / stretch),
    );
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return { first, weights: weights.map((weight) => roundedAway((weight / sum) * ONE)) };
  });
}

/** Returns the nearest whole number; of two, the one away from zero. */
const roundedAway = (value: number): number => Math.trunc(value + Math.sign(value) / 2);

function alongColumns({ data, width, height, channels }: Picture, columns: readonly Source[]): Picture {
  const result = new Uint8ClampedArray(columns.length * height * channels);
  let to = 0;
  for (let y = 0; y < height; y++)
    for (const { first, weights } of columns)
      for (let channel = 0; channel < channels; channel++) {
        let sum = 0;
        let from = (y * width + first) * channels + channel;
        for (const weight of weights) {
          sum += weight * data[from]!;
          from += channels;
        }
        result[to++] = Math.floor(sum / ONE + 0.5);
      }
  return { data: result, width: columns.length, height, channels };
}

function alongRows({ data, width, channels }: Picture, rows: readonly Source[]): Picture {
  const line = width * channels;
  const result = new Uint8ClampedArray(rows.length * line);
  for (const [y, { first, weights }] of rows.entries())
    for (let at = 0; at < line; at++) {
      let sum = 0;
      let from = first * line + at;
      for (const weight of weights) {
        sum += weight * data[from]!;
        from += line;
      }
      result[y * line + at] = Math.floor(sum / ONE + 0.5);
    }
  return { data: result, width, height: rows.length, channels };
}

/** Returns a part of the picture. What lies outside of it is black. */
export function part({ data, width, height, channels }: Picture, left: number, top: number, size: Size): Picture {
  const result = new Uint8ClampedArray(size.width * size.height * channels);
  const [begin, end] = [Math.max(0, left), Math.min(width, left + size.width)];
  for (let y = Math.max(0, top); y < Math.min(height, top + size.height) && begin < end; y++)
    result.set(
      data.subarray((y * width + begin) * channels, (y * width + end) * channels),
      ((y - top) * size.width + begin - left) * channels,
    );
  return { data: result, ...size, channels };
}

interface Size {
  readonly width: number;
  readonly height: number;
}
