// Finds the boxes of texts in a map of probabilities, after "Real-time Scene Text Detection with Differentiable
// Binarization" (Liao et al., 2020), with the steps and constants of PaddleOCR.
import { distance, type Point, type Quad } from './pixels.ts';

/** The probability of each place to be in the inner part of a text. */
export interface TextMap {
  readonly width: number;
  readonly height: number;
  readonly probabilities: Float32Array;
}

export interface BoxOptions {
  /** Mean probability below which a box is dropped, from 0 to 1. */
  readonly boxThreshold: number;
  /** How much larger than its inner part a text is. */
  readonly unclipRatio: number;
}

/** Probability from which on a place belongs to a text. */
const THRESHOLD = 0.3;
/** The first texts of a map, which bounds the work with noise. */
const MAX_BOXES = 1000;
/** The shorter side of a box before and after it grows. */
const MIN_SIDE = 3;

/** A rectangle by its centre, its directions and the half lengths of its sides. */
interface Rectangle {
  readonly centre: Point;
  readonly along: Point;
  readonly halfLength: number;
  readonly halfBreadth: number;
}

/** Returns the boxes in the coordinates of an image of this size. */
export function textBoxes(map: TextMap, width: number, height: number, options: BoxOptions): Quad[] {
  const boxes: Quad[] = [];
  let looked = 0;
  for (const outline of outlines(map)) {
    if ((looked += 1) > MAX_BOXES) break;
    const inner = smallestRectangle(convexHull(outline));
    if (shorterSide(inner) < MIN_SIDE || meanIn(map, cornersOf(inner)) < options.boxThreshold) continue;
    const outer = grown(inner, options.unclipRatio);
    if (shorterSide(outer) < MIN_SIDE + 2) continue;
    const scaled = cornersOf(outer).map(([x, y]): Point => [
      inside(Math.round((x / map.width) * width), width),
      inside(Math.round((y / map.height) * height), height),
    ]);
    const quad = asRead(scaled);
    if (distance(quad[0], quad[1]) >= MIN_SIDE + 1 && distance(quad[0], quad[3]) >= MIN_SIDE + 1) boxes.push(quad);
  }
  return boxes;
}

const inside = (place: number, length: number): number => Math.min(Math.max(place, 0), length - 1);
const shorterSide = ({ halfLength, halfBreadth }: Rectangle): number => 2 * Math.min(halfLength, halfBreadth);

/** Yields, for each connected part of the map, the first and the last place of each of its rows. */
function* outlines({ width, height, probabilities }: TextMap): Generator<Point[]> {
  // The neighbours at the right and below are of the text, too, so that parts with a gap of one become one.
  const open = new Uint8Array(width * height);
  for (let y = 0, at = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1, at += 1) {
      if (probabilities[at]! <= THRESHOLD) continue;
      open[at] = 1;
      if (x + 1 < width) open[at + 1] = 1;
      if (y + 1 >= height) continue;
      open[at + width] = 1;
      if (x + 1 < width) open[at + width + 1] = 1;
    }
  const queue = new Int32Array(width * height);
  // From below, as OpenCV lists them: with noise, the first ones count.
  for (let begin = open.length - 1; begin >= 0; begin -= 1) {
    if (open[begin] !== 1) continue;
    const rows = new Map<number, [number, number]>();
    let length = 1;
    queue[0] = begin;
    open[begin] = 2;
    for (let next = 0; next < length; next += 1) {
      const at = queue[next]!;
      const y = Math.floor(at / width);
      const x = at - y * width;
      const row = rows.get(y);
      if (!row) rows.set(y, [x, x]);
      else if (x < row[0]) row[0] = x;
      else if (x > row[1]) row[1] = x;
      for (let down = Math.max(y - 1, 0); down <= Math.min(y + 1, height - 1); down += 1)
        for (let across = Math.max(x - 1, 0); across <= Math.min(x + 1, width - 1); across += 1) {
          const neighbour = down * width + across;
          if (open[neighbour] !== 1) continue;
          open[neighbour] = 2;
          queue[length] = neighbour;
          length += 1;
        }
    }
    yield [...rows].flatMap(([y, [first, last]]): Point[] => [
      [first, y],
      [last, y],
    ]);
  }
}

/** Returns the corners of the convex hull in order (Andrew's monotone chain). */
function convexHull(points: readonly Point[]): Point[] {
  const sorted = points.toSorted(([x, y], [otherX, otherY]) => x - otherX || y - otherY);
  const half = (ordered: readonly Point[]): Point[] => {
    const chain: Point[] = [];
    for (const point of ordered) {
      while (chain.length > 1 && turn(chain.at(-2)!, chain.at(-1)!, point) <= 0) chain.pop();
      chain.push(point);
    }
    chain.pop();
    return chain;
  };
  const hull = [...half(sorted), ...half(sorted.toReversed())];
  return hull.length > 0 ? hull : sorted.slice(0, 1);
}

const turn = ([x, y]: Point, [x1, y1]: Point, [x2, y2]: Point): number => (x1 - x) * (y2 - y) - (y1 - y) * (x2 - x);

/** Returns the rectangle of the least area around a convex hull. One of its sides lies on a side of the hull. */
function smallestRectangle(hull: readonly Point[]): Rectangle {
  let best: Rectangle | undefined;
  let least = Infinity;
  for (const [n, [x, y]] of hull.entries()) {
    const [nextX, nextY] = hull[(n + 1) % hull.length]!;
    const length = Math.hypot(nextX - x, nextY - y) || 1;
    const along: Point =
      length === 1 && nextX === x && nextY === y ? [1, 0] : [(nextX - x) / length, (nextY - y) / length];
    let [from, to, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [px, py] of hull) {
      const a = px * along[0] + py * along[1];
      const b = py * along[0] - px * along[1];
      from = Math.min(from, a);
      to = Math.max(to, a);
      low = Math.min(low, b);
      high = Math.max(high, b);
    }
    const area = (to - from) * (high - low);
    if (area >= least) continue;
    least = area;
    const [a, b] = [(from + to) / 2, (low + high) / 2];
    best = {
      centre: [a * along[0] - b * along[1], a * along[1] + b * along[0]],
      along,
      halfLength: (to - from) / 2,
      halfBreadth: (high - low) / 2,
    };
  }
  return best!;
}

/**
 * Moves each side outwards by the area, times the ratio, over the circumference. The corners are first cut to whole
 * places, because the networks for reading were made for boxes of programs that compute with whole numbers.
 */
function grown(rectangle: Rectangle, ratio: number): Rectangle {
  const { halfLength, halfBreadth } = rectangle;
  const by = (halfLength * halfBreadth * ratio) / (halfLength + halfBreadth);
  const whole = cornersOf(rectangle).map(([x, y]): Point => [Math.trunc(x), Math.trunc(y)]);
  const cut = smallestRectangle(convexHull(whole));
  return { ...cut, halfLength: cut.halfLength + by, halfBreadth: cut.halfBreadth + by };
}

function cornersOf({ centre: [x, y], along: [dx, dy], halfLength: a, halfBreadth: b }: Rectangle): Point[] {
  return [
    [x - a * dx + b * dy, y - a * dy - b * dx],
    [x + a * dx + b * dy, y + a * dy - b * dx],
    [x + a * dx - b * dy, y + a * dy + b * dx],
    [x - a * dx - b * dy, y - a * dy + b * dx],
  ];
}

/** Returns corners in the order of {@link Quad}: the upper and the lower of the left ones, then those of the right. */
function asRead(corners: readonly Point[]): Quad {
  const [one, two, three, four] = corners.toSorted(([x], [other]) => x - other) as [Point, Point, Point, Point];
  const [topLeft, bottomLeft] = one[1] <= two[1] ? [one, two] : [two, one];
  const [topRight, bottomRight] = three[1] <= four[1] ? [three, four] : [four, three];
  return [topLeft, topRight, bottomRight, bottomLeft];
}

/** Returns the mean probability of the places in a convex box. */
function meanIn({ width, height, probabilities }: TextMap, corners: readonly Point[]): number {
  const ys = corners.map(([, y]) => y);
  let sum = 0;
  let count = 0;
  const last = Math.min(Math.ceil(Math.max(...ys)), height - 1);
  for (let y = Math.max(Math.floor(Math.min(...ys)), 0); y <= last; y += 1) {
    const [from, to] = rowOf(corners, y);
    for (let x = Math.max(Math.round(from), 0); x <= Math.min(Math.round(to), width - 1); x += 1) {
      sum += probabilities[y * width + x]!;
      count += 1;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** Returns where a row of places enters and leaves a convex box. */
function rowOf(corners: readonly Point[], y: number): [number, number] {
  let [from, to] = [Infinity, -Infinity];
  for (const [n, [x0, y0]] of corners.entries()) {
    const [x1, y1] = corners[(n + 1) % corners.length]!;
    if (Math.min(y0, y1) > y || Math.max(y0, y1) < y) continue;
    const at = y0 === y1 ? [x0, x1] : [x0 + ((x1 - x0) * (y - y0)) / (y1 - y0)];
    from = Math.min(from, ...at);
    to = Math.max(to, ...at);
  }
  return [from, to];
}
