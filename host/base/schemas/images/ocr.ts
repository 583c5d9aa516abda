import * as z from 'zod/mini';

const Point = z.tuple([z.int().check(z.minimum(0)), z.int().check(z.minimum(0))]);

/** A line of text in an image. */
export const OcrLine = z.strictObject({
  text: z.string(),
  confidence: z.number().check(z.minimum(0), z.maximum(1), z.describe('0 to 1.')),
  box: z
    .tuple([Point, Point, Point, Point])
    .check(
      z.describe(
        'Corners as they lie in the image, each in pixels from the left and from the top: top left, top right, ' +
          'bottom right, bottom left.',
      ),
    ),
  angle: z
    .number()
    .check(
      z.gt(-180),
      z.maximum(180),
      z.describe('The direction of reading in degrees: 0 to the right, 90 downwards, 180 to the left, -90 upwards.'),
    ),
});
export type OcrLine = z.infer<typeof OcrLine>;

/** The texts of an image. */
export const OcrOutput = z.strictObject({
  lines: z.array(OcrLine).check(z.describe('In the order of reading: line by line, and columns from left to right.')),
});
export type OcrOutput = z.infer<typeof OcrOutput>;

/** The texts of several images. */
export const OcrBatchOutput = z.strictObject({
  images: z.array(OcrOutput).check(z.describe('In the order of the images.')),
});
export type OcrBatchOutput = z.infer<typeof OcrBatchOutput>;
