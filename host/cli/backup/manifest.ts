import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { fail } from '../../base/core/errors.ts';

export const MANIFEST_FILE = 'manifest.json';
export const DATABASE_FILE = 'aana.db';

/** The paths that a backup can have. Restoring writes no other ones. */
export const BACKUP_PATH =
  /^(aana\.db|tasks\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/\d{1,6}|files\/file-[0-9a-f]{32})$/;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** What a backup has, and how to see that it is whole. */
export const Manifest = z.object({
  /** The form of the backup. A version that changes it in an incompatible way takes the next number. */
  format: z.literal(1),
  /** The version of aana-host that made it. */
  version: z.string(),
  created_at: z.iso.datetime(),
  /** The number of the last migration of the database. */
  migration: z.int().min(0),
  files: z.array(z.object({ path: z.string().regex(BACKUP_PATH), bytes: z.int().min(0), sha256: Sha256 })),
  /** Files that rows of the database name and that were not there. */
  missing: z.array(z.string()),
});
export type Manifest = z.infer<typeof Manifest>;

/** Reads the manifest of a backup. Throws `InvalidBackup` or `BackupRefused`. */
export async function readManifest(folder: string, source: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw fail(
      'InvalidBackup',
      `${source} is not a backup: its ${MANIFEST_FILE} cannot be read (${error.code ?? error.message})`,
      { cause: error },
    );
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw fail('InvalidBackup', `${source}: ${MANIFEST_FILE} is not JSON; the backup is damaged`, { cause: error });
  }
  const { data, error } = Manifest.safeParse(value);
  if (!data) {
    const [issue] = error.issues;
    throw fail(
      'InvalidBackup',
      issue?.path[0] === 'format'
        ? `${source} has a form that this version does not know; restore it with the version that made it, or ` +
            `a later one`
        : `${source}: ${MANIFEST_FILE} is damaged: ${issue?.path.join('.')}: ${issue?.message}`,
    );
  }
  if (!data.files.some(({ path }) => path === DATABASE_FILE))
    throw fail('InvalidBackup', `${source}: ${MANIFEST_FILE} names no database`);
  return data;
}
