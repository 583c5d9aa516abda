import { isUpright, type Point, type Quad } from './pixels.ts';

/** A line of text as it lies in an image. */
interface Placed {
  readonly box: Quad;
  readonly text: string;
  /** The direction of reading in degrees: 0 to the right, 90 downwards. Above -180, at most 180. */
  readonly angle: number;
}

/** Returns the direction of reading of the part of an image that `cropped` returns for this box. */
export function angleOf(box: Quad, isUpsideDown: boolean): number {
  const [topLeft, topRight, , bottomLeft] = box;
  const [x, y] = isUpright(box) ? bottomLeft : topRight;
  const degrees = (Math.atan2(y - topLeft[1], x - topLeft[0]) * 180) / Math.PI + (isUpsideDown ? 180 : 0);
  const tenths = Math.round(10 * degrees);
  return (tenths > 1800 ? tenths - 3600 : tenths) / 10;
}

/** Texts that begin at heights with a smaller difference stand in one line. */
const LINE_PIXELS = 10;

/**
 * Orders the lines of a page line by line, and those of one line by their beginnings. A page that lies on a side or
 * stands on its head is read as it was written: most of its letters decide.
 */
export function inReadingOrder<L extends Placed>(lines: readonly L[]): L[] {
  const turns = quarterTurns(lines);
  const ordered = lines
    .map((line) => ({ line, at: beginning(line.box, turns) }))
    .toSorted(({ at: [x, y] }, { at: [otherX, otherY] }) => y - otherY || x - otherX);
  for (let n = 1; n < ordered.length; n += 1)
    for (let at = n; at > 0; at -= 1) {
      const [before, line] = [ordered[at - 1]!, ordered[at]!];
      if (Math.abs(line.at[1] - before.at[1]) >= LINE_PIXELS || line.at[0] >= before.at[0]) break;
      ordered[at - 1] = line;
      ordered[at] = before;
    }
  return ordered.map(({ line }) => line);
}

/** Returns by how many quarters, clockwise, most letters are turned: 0 to 3. */
function quarterTurns(lines: readonly Placed[]): number {
  const letters = [0, 0, 0, 0];
  for (const { text, angle } of lines) letters[(Math.round(angle / 90) + 4) % 4]! += text.length;
  return letters.indexOf(Math.max(...letters));
}

/** Returns the upper left corner of a text on a page that is turned so that it can be read. */
function beginning(box: Quad, turns: number): Point {
  const [x, y] = box[turns]!;
  if (turns === 0) return [x, y];
  if (turns === 1) return [y, -x];
  return turns === 2 ? [-x, -y] : [-y, x];
}
