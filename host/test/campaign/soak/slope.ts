/** A line through points by least squares. */
export interface Slope {
  /** Change per unit of x. */
  readonly slope: number;
  /** Standard error of the slope: about two thirds of repetitions lie within it. */
  readonly error: number;
}

/** A line lies on any two points, so its error needs a third one. */
export const FEWEST_POINTS = 3;

/** Returns the slope of the line that lies nearest to the points. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): Slope {
  if (points.length < FEWEST_POINTS) throw new Error(`a slope with its error needs three points, not ${points.length}`);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const rest = points.reduce((sum, { x, y }) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / (points.length - 2) / spread) };
}
