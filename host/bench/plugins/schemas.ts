import * as z from 'zod';
import { BYTES_ANSWER, FILE_REFERENCE } from '../../base/schemas/index.ts';

/** The benchmark plugin's schemas, as a person would write them with zod. */
export const Input = z.strictObject({
  text: z.string().min(1).max(1000),
  count: z.int().min(0).max(1000),
  options: z.strictObject({ language: z.string(), temperature: z.number().min(0).max(2) }),
});
export const Output = z.object({ text: z.string(), count: z.int() });

/** A request that is answered with the bytes of its file. */
export const FileInput = z.strictObject({ file: z.string().meta({ [FILE_REFERENCE]: true }) });
export const FileBytes = z
  .object({ media_type: z.literal('application/octet-stream'), base64: z.string() })
  .meta({ [BYTES_ANSWER]: true });
