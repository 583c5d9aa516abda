import { type Picture, part, resized } from './resample.ts';

/** Pixels of an image in a message to the thread: RGB, row by row. */
export interface Pixels {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** The class of images of Transformers.js, as far as it is used and replaced. */
export interface RawImageClass {
  new (data: Picture['data'], width: number, height: number, channels: number): Picture;
  readonly prototype: object;
}

const RGB = 3;

export const isPixels = (value: unknown): value is Pixels =>
  typeof value === 'object' && value !== null && 'pixels' in value;

export const imageOf = (RawImage: RawImageClass, { pixels, width, height }: Pixels): Picture =>
  new RawImage(pixels, width, height, RGB);

/** Replaces what Transformers.js does with sharp, which is not there, by computations of our own. */
export function replaceSharp(RawImage: RawImageClass): void {
  const made = ({ data, width, height, channels }: Picture): Picture => new RawImage(data, width, height, channels);
  Object.assign(RawImage.prototype, {
    async resize(this: Picture, width: unknown, height: unknown, { resample = 2 } = {}): Promise<Picture> {
      const [w, h] = [sideOf(width), sideOf(height)];
      if (w === undefined && h === undefined) return this;
      const newWidth = w ?? (h! / this.height) * this.width;
      const newHeight = h ?? (w! / this.width) * this.height;
      const [columns, rows] = [Math.max(1, Math.round(newWidth)), Math.max(1, Math.round(newHeight))];
      if (columns === this.width && rows === this.height) return this;
      return made(resized(this, columns, rows, resample));
    },
    async pad(this: Picture, [left, right, top, bottom]: readonly [number, number, number, number]): Promise<Picture> {
      const [l, r, t, b] = [left, right, top, bottom].map((side) => Math.max(0, side)) as [
        number,
        number,
        number,
        number,
      ];
      return made(part(this, -l, -t, { width: this.width + l + r, height: this.height + t + b }));
    },
    async crop(this: Picture, [left, top, right, bottom]: readonly [number, number, number, number]): Promise<Picture> {
      const [x, y] = [Math.max(0, left), Math.max(0, top)];
      const [endX, endY] = [Math.min(right, this.width - 1), Math.min(bottom, this.height - 1)];
      return made(part(this, x, y, { width: endX - x + 1, height: endY - y + 1 }));
    },
    async center_crop(this: Picture, width: number, height: number): Promise<Picture> {
      const [left, top] = [Math.floor((this.width - width) / 2), Math.floor((this.height - height) / 2)];
      return made(part(this, left, top, { width, height }));
    },
  });
}

/** Returns a length that is given; -1 and null mean that it is not. */
const sideOf = (side: unknown): number | undefined => (typeof side === 'number' && side !== -1 ? side : undefined);
