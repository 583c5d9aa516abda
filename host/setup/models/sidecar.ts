import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod/mini';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { partNames } from '../../base/core/model-files/split-file-names.ts';

/** The record of a verified file of the store, kept beside it as `<file>.json`. */
const Sidecar = z.object({
  id: z.string(),
  kind: z.enum(['whisper', 'vad', 'gguf', 'onnx', 'tool', 'sample']),
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
  /** The file differs from the verified one. */
  | { readonly state: 'damaged'; readonly reason: string };

export function sidecarPath(file: string): string {
  return `${file}.json`;
}

/**
 * Returns whether a model exists as it was verified; `file` is its file or the first of its parts. Compares sizes and
 * does not read the content. For a split model `bytes` is the length of all parts and `sha256` the digest of the
 * digests of its parts.
 */
export async function inspectModel(file: string): Promise<StoredState> {
  const first = await inspectStored(file);
  const [, ...others] = partNames(path.basename(file));
  if (first.state !== 'present' || others.length === 0) return first;
  const digests = createHash('sha256').update(first.sidecar.sha256);
  let { bytes } = first.sidecar;
  for (const name of others) {
    const part = await inspectStored(path.join(path.dirname(file), name));
    if (part.state === 'absent') return { state: 'damaged', reason: `its part ${name} is missing` };
    if (part.state === 'damaged') return { state: 'damaged', reason: `part ${name}: ${part.reason}` };
    bytes += part.sidecar.bytes;
    digests.update(part.sidecar.sha256);
  }
  return { state: 'present', sidecar: { ...first.sidecar, bytes, sha256: digests.digest('hex') } };
}

/** Returns whether `file` exists as it was verified. Compares sizes and does not read the content. */
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
    return undefined; // no sidecar, or a foreign file
  }
}

/**
 * Returns the sidecar of a stored file beside which `file` cannot lie: one of both has the name of the sidecar of the
 * other. Repositories have files such as `voice.onnx.json` beside `voice.onnx`.
 */
export async function neighbourOf(file: string): Promise<Sidecar | undefined> {
  const owner = file.endsWith('.json') ? await readSidecar(file.slice(0, -'.json'.length)) : undefined;
  return owner ?? (await readSidecar(sidecarPath(file)));
}

/** Writes the sidecar. It is written before the file gets its name, so that a file with that name always has one. */
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
  const advice = `run "aana-host models rm ${id}" and pull it again`;
  return fail('ModelDamaged', `model ${id} is truncated or changed (${file}: ${reason}); ${advice}`, {
    data: { id, file },
  });
}
