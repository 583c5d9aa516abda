import * as z from 'zod/mini';

/**
 * A file that one process made and another one reads. Processes name it by `id` and not by a path, so that a reader may
 * fetch it from another machine. `id` is unguessable and tells its maker where the file lies; `sha256` is that of all
 * its bytes, in hexadecimal.
 */
export const Artifact = z.strictObject({
  id: z.string().check(z.regex(/^[\w-]+(\/[\w-][\w.-]*)+$/), z.maxLength(512)),
  bytes: z.int().check(z.minimum(0)),
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
});
export type Artifact = z.infer<typeof Artifact>;
