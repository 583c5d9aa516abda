import * as z from 'zod/mini';
import { MAX_NAME } from './bounds.ts';

/**
 * Marks a string whose value is the field name of an uploaded file part. `http/` finds the file. In JSON Schema:
 * `"x-aana-file": true`.
 */
export const FILE_REFERENCE = 'x-aana-file';

/**
 * Marks an object that has exactly one of the listed keys. A key with null counts as absent. In JSON Schema:
 * `"x-aana-exactly-one": ["path", "url"]`.
 */
export const EXACTLY_ONE = 'x-aana-exactly-one';

const fileName = (description: string) =>
  z.string().check(z.maxLength(MAX_NAME), z.meta({ description, [FILE_REFERENCE]: true }));

/** A file that is uploaded with the request: the field name of its part. A plugin reads it with `ctx.file`. */
export const FileInput = fileName('Field name of the uploaded file part.');
export type FileInput = z.infer<typeof FileInput>;

const SOURCES = ['path', 'url', 'content'] as const;

const mediaId = z
  .string()
  .check(
    z.minLength(1),
    z.maxLength(36),
    z.regex(/^[A-Za-z0-9_-]+$/),
    z.describe('Identifier of the media: 1 to 36 letters, digits, "_" or "-".'),
  );

/** Characters of a path or of a URL. */
const MAX_ADDRESS = 65_536;
/** The beginning of a URL. `new URL` reads it as browsers do, which encode spaces and leave out those around it. */
const HTTP_URL = /^\s*[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s/]/;

const mediaInput = (noun: string) =>
  z
    .strictObject({
      path: z.optional(
        z.nullable(
          z
            .string()
            .check(
              z.maxLength(MAX_ADDRESS),
              z.describe('Path on the server, in a directory that the operator allows.'),
            ),
        ),
      ),
      url: z.optional(
        z.nullable(
          z
            .string()
            .check(
              z.maxLength(MAX_ADDRESS),
              z.regex(HTTP_URL, 'must be an absolute http or https URL'),
              z.describe(`URL of the ${noun}: http or https.`),
            ),
        ),
      ),
      content: z.optional(z.nullable(fileName(`Field name of the uploaded file part that holds the ${noun}.`))),
      media_id: z.optional(z.nullable(mediaId)),
    })
    .check(
      z.refine((media) => SOURCES.filter((source) => media[source] != null).length === 1, {
        error: "Exactly one of 'path', 'url', or 'content' must be provided.",
      }),
      z.meta({ [EXACTLY_ONE]: SOURCES }),
    );

/** A video, given by exactly one of a URL, a path on the server, or an uploaded file part. */
export const VideoInput = mediaInput('video');
export type VideoInput = z.infer<typeof VideoInput>;

/** An image, given by exactly one of a URL, a path on the server, or an uploaded file part. */
export const ImageInput = mediaInput('image');
export type ImageInput = z.infer<typeof ImageInput>;

/** Media of one request. */
const MAX_MEDIA = 1000;

/** Videos: at least one. */
export const VideoInputList = z.array(VideoInput).check(z.minLength(1), z.maxLength(MAX_MEDIA));
export type VideoInputList = z.infer<typeof VideoInputList>;

/** Images: at least one. */
export const ImageInputList = z.array(ImageInput).check(z.minLength(1), z.maxLength(MAX_MEDIA));
export type ImageInputList = z.infer<typeof ImageInputList>;
