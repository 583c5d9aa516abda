import { defineEndpoint, ImageInput, OcrOutput, z } from 'aana-host/plugin';

/** Reads the texts in an image. An image without text has no lines. */
export const readImage = defineEndpoint({
  name: 'read_image',
  path: '/ocr',
  summary: 'Read the texts in an image',
  description: 'Finds and reads the texts in an image: each line with its confidence, its place and its direction.',
  input: z.strictObject({ image: ImageInput }),
  output: OcrOutput,
  async run({ image }, ctx) {
    return ctx.ocr.recognize(await ctx.image.open(image));
  },
});
