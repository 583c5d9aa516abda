import * as z from 'zod/mini';

/** Of a JPEG, from 1 to 100. */
export const DEFAULT_QUALITY = 85;

/** The form of the file of a picture. */
export const fileForm = {
  format: z.enum(['jpeg', 'png']),
  quality: z.optional(
    z
      .int()
      .check(
        z.minimum(1),
        z.maximum(100),
        z.describe(`Of a JPEG, from 1 (small) to 100. Default: ${DEFAULT_QUALITY}.`),
      ),
  ),
};
