/** Returns the places of the `count` largest values, the largest first; of equal values the first ones. */
export function largest(values: Float32Array, count: number): number[] {
  const places: number[] = [];
  let least = -Infinity;
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place]!;
    if (places.length === count && value <= least) continue;
    let at = places.length === count ? count - 1 : places.length;
    for (; at > 0 && values[places[at - 1]!]! < value; at -= 1) places[at] = places[at - 1]!;
    places[at] = place;
    if (places.length === count) least = values[places[count - 1]!]!;
  }
  return places;
}
