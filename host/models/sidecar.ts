import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { AanaError } from '../core/errors.ts';
import { randomSuffix } from '../core/ids.ts';

/** What is kept beside a file of the store, as `<file>.json`: written when it was verified. */
const Sidecar = z.object({
  id: z.string(),
  kind: z.enum(['whisper', 'vad', 'gguf', 'tool', 'sample']),
  bytes: z.number(),
  sha256: z.string(),
  source: z.string(),
  licence: z.string(),
  verified_at: z.string(),
});
export type Sidecar = z.infer<typeof Sidecar>;

export type StoredState =
  | { readonly state: 'absent' }
  | { readonly state: 'present'; readonly sidecar: Sidecar }
  /** The file is not what was verified. */
  | { readonly state: 'damaged'; readonly reason: string };

export function sidecarPath(file: string): string {
  return `${file}.json`;
}

/** Whether `file` is there as it was when it was verified; compares sizes, reads no content. */
export async function inspectStored(file: string): Promise<StoredState> {
  const sidecar = await readSidecar(file);
  if (!sidecar) return { state: 'absent' };
  const found = await stat(file).catch(() => undefined);
  if (!found) return { state: 'absent' };
  if (found.size === sidecar.bytes) return { state: 'present', sidecar };
  return { state: 'damaged', reason: `it has ${found.size} bytes instead of ${sidecar.bytes}` };
}

export async function readSidecar(file: string): Promise<Sidecar | undefined> {
  try {
    return Sidecar.parse(JSON.parse(await readFile(sidecarPath(file), 'utf8')));
  } catch {
    return undefined; // none, or not ours
  }
}

/** Written before the file itself gets its name, so that a file with its name always has one. */
export async function writeSidecar(file: string, sidecar: Sidecar): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${sidecarPath(file)}.${randomSuffix()}`;
  try {
    await writeFile(temporary, `${JSON.stringify(sidecar, undefined, 2)}\n`);
    await rename(temporary, sidecarPath(file));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export function damagedError(id: string, file: string, reason: string): AanaError {
  const message = `model ${id} is truncated or changed (${file}: ${reason}); run "aana-host models rm ${id}" and pull it again`;
  return new AanaError('ModelDamaged', 'internal', message, { data: { id, file } });
}
