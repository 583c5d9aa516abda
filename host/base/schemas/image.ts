import * as z from 'zod/mini';
import { Artifact } from './artifact.ts';

const side = (what: string): z.ZodMiniNumber =>
  z.int().check(z.minimum(1), z.maximum(32_768), z.describe(`${what} in pixels.`));

/** An image as an argument of `chat`: the red, green and blue of each pixel, row by row from the top, as a file. */
export const ImageReference = z
  .strictObject({ pixels: Artifact, width: side('Width'), height: side('Height') })
  .check(
    z.refine(
      ({ pixels, width, height }) => pixels.bytes === 3 * width * height,
      'pixels must have three bytes for each pixel.',
    ),
  );
export type ImageReference = z.infer<typeof ImageReference>;
