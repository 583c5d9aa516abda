import * as z from 'zod/mini';

/**
 * A file that one process made and another one reads. Processes name it by `id` and not by a path, so that a reader can
 * fetch it from another machine. `id` cannot be guessed, and its maker finds the file by it. `sha256` is the SHA-256 of
 * all bytes, in hexadecimal.
 */
export const Artifact = z.strictObject({
  id: z.string().check(z.regex(/^[\w-]+(\/[\w-][\w.-]*)+$/), z.maxLength(512)),
  bytes: z.int().check(z.minimum(0)),
  sha256: z.string().check(z.length(64), z.regex(/^[0-9a-f]{64}$/)),
});
export type Artifact = z.infer<typeof Artifact>;
