import * as z from 'zod/mini';

const side = (what: string): z.ZodMiniOptional<z.ZodMiniNumber> =>
  z.optional(z.int().check(z.minimum(1), z.maximum(32_768), z.describe(`Most pixels of the ${what}.`)));

/** The form of the file of a picture, into which a picture is encoded, and its size. */
export const ImageEncoding = z.strictObject({
  format: z.enum(['jpeg', 'png']),
  quality: z.optional(
    z.int().check(z.minimum(1), z.maximum(100), z.describe('Of a JPEG, from 1 (small) to 100. Default: 85.')),
  ),
  max_width: side('width'),
  max_height: side('height'),
});
export type ImageEncoding = z.infer<typeof ImageEncoding>;
