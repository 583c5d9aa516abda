import * as z from 'zod/mini';
import { fileForm } from './file-form.ts';

const side = (what: string): z.ZodMiniOptional<z.ZodMiniNumber> =>
  z.optional(z.int().check(z.minimum(1), z.maximum(32_768), z.describe(`Most pixels of the ${what}.`)));

/** The form of the file of a picture, into which a picture is encoded, and its size. */
export const ImageEncoding = z.strictObject({
  ...fileForm,
  max_width: side('width'),
  max_height: side('height'),
});
export type ImageEncoding = z.infer<typeof ImageEncoding>;
