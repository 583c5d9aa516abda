/** A JSON value with the kind of each text, number and boolean in its place. A list has each kind of its items once. */
export type Shape = string | null | readonly Shape[] | { readonly [name: string]: Shape };

/** Returns the shape of a JSON value. */
export function shapeOf(value: unknown): Shape {
  if (value === null) return null;
  if (Array.isArray(value)) return distinct(value.map(shapeOf));
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

/** Returns each shape once, in the order in which they first come. */
export function distinct(shapes: readonly Shape[]): Shape[] {
  return [...new Map(shapes.map((shape) => [JSON.stringify(shape), shape])).values()];
}
