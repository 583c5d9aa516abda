/** Pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Returns a size, or the largest smaller one with the same ratio within the limits. */
export function within(
  { width, height }: Size,
  maxWidth: number = Infinity,
  maxHeight: number = Infinity,
  maxPixels: number = Infinity,
): Size {
  const scale = Math.min(1, maxWidth / width, maxHeight / height, Math.sqrt(maxPixels / (width * height)));
  const scaled = (length: number): number => Math.max(1, Math.floor(length * scale + 1e-9));
  return { width: scaled(width), height: scaled(height) };
}
