import * as z from 'zod';
import { MAX_DATA, MAX_NAME, MAX_TEXT } from '../../../base/schemas/index.ts';

/** A text. Keys without effect, such as `cache_control` and `citations`, are dropped. */
export const TextBlock = z.object({ type: z.literal('text'), text: z.string().max(MAX_TEXT) });
export type TextBlock = z.output<typeof TextBlock>;

/** A file of `/v1/files`. */
export const FileSource = z.object({ type: z.literal('file'), file_id: z.string().max(MAX_NAME) });

export const ImageBlock = z.object({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.object({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z.string().max(MAX_DATA),
    }),
    z.object({ type: z.literal('url'), url: z.string().max(MAX_DATA) }),
    FileSource,
  ]),
});
export type ImageBlock = z.output<typeof ImageBlock>;
