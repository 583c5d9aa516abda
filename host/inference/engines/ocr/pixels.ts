/** An image in memory: red, green and blue of each pixel, row by row from the top. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** A point in pixels, from the left and from the top. */
export type Point = readonly [x: number, y: number];

/** The corners of a text: top left, top right, bottom right, bottom left, as one reads it. */
export type Quad = readonly [Point, Point, Point, Point];

const CHANNELS = 3;

/** Returns the image with another size, by linear interpolation between the centres of pixels. */
export function resized({ width, height, data }: Pixels, newWidth: number, newHeight: number): Pixels {
  if (newWidth === width && newHeight === height) return { width, height, data };
  const result = new Uint8Array(newWidth * newHeight * CHANNELS);
  const columns = places(width, newWidth);
  const rows = places(height, newHeight);
  const rowBytes = width * CHANNELS;
  let to = 0;
  for (let y = 0; y < newHeight; y += 1) {
    const above = rows.first[y]! * rowBytes;
    const below = rows.second[y]! * rowBytes;
    const down = rows.weight[y]!;
    for (let x = 0; x < newWidth; x += 1) {
      const left = columns.first[x]! * CHANNELS;
      const right = columns.second[x]! * CHANNELS;
      const along = columns.weight[x]!;
      for (let channel = 0; channel < CHANNELS; channel += 1) {
        const a = data[above + left + channel]!;
        const b = data[above + right + channel]!;
        const c = data[below + left + channel]!;
        const d = data[below + right + channel]!;
        const top = a + (b - a) * along;
        result[to] = top + (c + (d - c) * along - top) * down + 0.5;
        to += 1;
      }
    }
  }
  return { width: newWidth, height: newHeight, data: result };
}

/** For each new place, the two old ones that it lies between, and how near it is to the second. */
function places(length: number, newLength: number) {
  const first = new Int32Array(newLength);
  const second = new Int32Array(newLength);
  const weight = new Float64Array(newLength);
  const scale = length / newLength;
  for (let at = 0; at < newLength; at += 1) {
    const place = Math.min(Math.max((at + 0.5) * scale - 0.5, 0), length - 1);
    first[at] = Math.floor(place);
    second[at] = Math.min(first[at]! + 1, length - 1);
    weight[at] = place - first[at]!;
  }
  return { first, second, weight };
}

/** Returns the image with black rows above and below it. */
export function letterboxed({ width, height, data }: Pixels, rows: number): Pixels {
  const result = new Uint8Array(width * (height + 2 * rows) * CHANNELS);
  result.set(data, rows * width * CHANNELS);
  return { width, height: height + 2 * rows, data: result };
}

/**
 * Writes the image as the networks were trained: planes of blue, green and red with values from −1 to 1. The planes are
 * `width` wide, with 0 at the right of the image.
 */
export function writePlanes(image: Pixels, width: number, to: Float32Array): void {
  const { height, data } = image;
  const plane = width * height;
  to.fill(0);
  let from = 0;
  for (let y = 0; y < height; y += 1)
    for (let x = 0, at = y * width; x < image.width; x += 1, at += 1, from += CHANNELS) {
      to[at] = data[from + 2]! / 127.5 - 1;
      to[plane + at] = data[from + 1]! / 127.5 - 1;
      to[2 * plane + at] = data[from]! / 127.5 - 1;
    }
}

/** Returns the image turned by a half. */
export function upsideDown({ width, height, data }: Pixels): Pixels {
  const result = new Uint8Array(data.length);
  for (let from = 0, to = data.length - CHANNELS; to >= 0; from += CHANNELS, to -= CHANNELS)
    result.set(data.subarray(from, from + CHANNELS), to);
  return { width, height, data: result };
}

/** Returns the image turned by a quarter against the clock. */
function turned({ width, height, data }: Pixels): Pixels {
  const result = new Uint8Array(data.length);
  for (let y = 0; y < width; y += 1)
    for (let x = 0; x < height; x += 1) {
      const from = (x * width + width - 1 - y) * CHANNELS;
      result.set(data.subarray(from, from + CHANNELS), (y * height + x) * CHANNELS);
    }
  return { width: height, height: width, data: result };
}

/** From this ratio of height to width on, a text is upright. */
const UPRIGHT = 1.5;

/** Returns the part of the image between four corners as a rectangle, and lays upright texts down. */
export function cropped(image: Pixels, quad: Quad): Pixels {
  const { width, height } = sizeOf(quad);
  const part = isRectangle(quad) ? cut(image, quad[0], width, height) : straightened(image, quad, width, height);
  return isUpright(quad) ? turned(part) : part;
}

/** Whether a text is read downwards or upwards. */
export function isUpright(quad: Quad): boolean {
  const { width, height } = sizeOf(quad);
  return height / width >= UPRIGHT;
}

function sizeOf([a, b, c, d]: Quad): { readonly width: number; readonly height: number } {
  return {
    width: Math.max(1, Math.trunc(Math.max(distance(a, b), distance(c, d)))),
    height: Math.max(1, Math.trunc(Math.max(distance(a, d), distance(b, c)))),
  };
}

export const distance = (one: Point, other: Point): number => Math.hypot(one[0] - other[0], one[1] - other[1]);

/** Whether the sides lie along the rows and columns of the image. */
const isRectangle = ([a, b, c, d]: Quad): boolean =>
  a[0] === d[0] && b[0] === c[0] && a[1] === b[1] && c[1] === d[1] && [a, c].flat().every(Number.isInteger);

/** Copies a rectangle of the image. */
function cut(image: Pixels, [left, top]: Point, width: number, height: number): Pixels {
  const data = new Uint8Array(width * height * CHANNELS);
  const part = { width: Math.min(width, image.width - left), height: Math.min(height, image.height - top) };
  for (let y = 0; y < part.height; y += 1) {
    const from = ((top + y) * image.width + left) * CHANNELS;
    data.set(image.data.subarray(from, from + part.width * CHANNELS), y * width * CHANNELS);
  }
  return { width, height, data };
}

/** Maps a rectangle to the quad by a projection, and reads each of its pixels by cubic interpolation. */
function straightened(image: Pixels, quad: Quad, width: number, height: number): Pixels {
  const project = projection(quad);
  const data = new Uint8Array(width * height * CHANNELS);
  let to = 0;
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1, to += CHANNELS) {
      const [sourceX, sourceY] = project(x / width, y / height);
      readCubic(image, sourceX, sourceY, data, to);
    }
  return { width, height, data };
}

/** Returns the projection of the square from 0 to 1 to a quad (Heckbert, Fundamentals of Texture Mapping, 1989). */
function projection([[x0, y0], [x1, y1], [x2, y2], [x3, y3]]: Quad): (u: number, v: number) => Point {
  const [dx1, dx2, sx] = [x1 - x2, x3 - x2, x0 - x1 + x2 - x3];
  const [dy1, dy2, sy] = [y1 - y2, y3 - y2, y0 - y1 + y2 - y3];
  const determinant = dx1 * dy2 - dx2 * dy1 || 1;
  const g = (sx * dy2 - dx2 * sy) / determinant;
  const h = (dx1 * sy - sx * dy1) / determinant;
  const [a, b] = [x1 - x0 + g * x1, x3 - x0 + h * x3];
  const [d, e] = [y1 - y0 + g * y1, y3 - y0 + h * y3];
  return (u, v) => {
    const w = g * u + h * v + 1;
    return [(a * u + b * v + x0) / w, (d * u + e * v + y0) / w];
  };
}

/** The constant of cubic convolution as OpenCV has it. */
const A = -0.75;
const weights = [new Float64Array(4), new Float64Array(4)] as const;

function setWeights(to: Float64Array, t: number): void {
  to[0] = ((A * (t + 1) - 5 * A) * (t + 1) + 8 * A) * (t + 1) - 4 * A;
  to[1] = ((A + 2) * t - (A + 3)) * t * t + 1;
  to[2] = ((A + 2) * (1 - t) - (A + 3)) * (1 - t) * (1 - t) + 1;
  to[3] = 1 - to[0] - to[1]! - to[2]!;
}

/** Writes the colour at a place between pixels. Beyond its border the image goes on with the border's colours. */
function readCubic({ width, height, data }: Pixels, x: number, y: number, result: Uint8Array, to: number): void {
  const column = Math.floor(x);
  const row = Math.floor(y);
  const [across, down] = weights;
  setWeights(across, x - column);
  setWeights(down, y - row);
  let [red, green, blue] = [0, 0, 0];
  for (let n = 0; n < 4; n += 1) {
    const at = clamped(row + n - 1, height) * width;
    for (let m = 0; m < 4; m += 1) {
      const weight = down[n]! * across[m]!;
      const from = (at + clamped(column + m - 1, width)) * CHANNELS;
      red += weight * data[from]!;
      green += weight * data[from + 1]!;
      blue += weight * data[from + 2]!;
    }
  }
  result[to] = byte(red);
  result[to + 1] = byte(green);
  result[to + 2] = byte(blue);
}

const clamped = (at: number, length: number): number => Math.min(Math.max(at, 0), length - 1);
const byte = (value: number): number => Math.min(Math.max(Math.round(value), 0), 255);
