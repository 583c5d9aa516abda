import { type FSWatcher, watch } from 'node:fs';
import { constants, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { raceAbort } from '../../base/core/abort.ts';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { fail } from '../../base/core/errors.ts';
import { findArtifact, type FoundFile, notFound } from './find-artifact.ts';
import { artifactsIn } from './named-artifacts.ts';

/** Bytes of an answer, at most. More would keep other answers of the connection waiting. */
const RANGE_BYTES = 512 * 1024;

/**
 * Returns bytes of an artifact for a process that does not see its file: those from byte `from` on, at most 512 kB, and
 * none at its end. If the artifact still grows, waits for further bytes or its end. Throws `ArtifactNotFound` when the
 * call does not name it or its file is gone, and `ValidationError` for another question.
 * @param args the arguments of the call for which the process asks; undefined when it has ended
 * @param asked what the process sent: `id` and `from`
 * @param roots the folders of artifacts
 */
export async function readArtifact(
  args: Readonly<Record<string, unknown>> | undefined,
  asked: Readonly<Record<string, unknown>>,
  roots: readonly string[],
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { id, from } = asked;
  if (typeof id !== 'string' || typeof from !== 'number' || !Number.isSafeInteger(from) || from < 0)
    throw fail('ValidationError', 'expected the id of an artifact and the place of a byte in it');
  const named = args && artifactsIn(args).get(id);
  if (!named) throw notFound(id, 'no running call names it');
  const { end } = named;
  const look = async (): Promise<Uint8Array | undefined> => {
    // The end is looked for before the file is read, because the file grows until then.
    const hasEnded = end === undefined || (await findArtifact(end, roots)) !== undefined;
    const bytes = await readRange(await found(id, roots), from);
    return bytes.length > 0 || hasEnded ? bytes : undefined;
  };
  return (await look()) ?? (await whenChanged(await found(id, roots), id, look, signal));
}

async function found(id: string, roots: readonly string[]): Promise<FoundFile> {
  return (
    (await findArtifact(id, roots)) ?? Promise.reject(notFound(id, 'its file is not there any more, or never was'))
  );
}

async function readRange({ path, bytes: size }: FoundFile, from: number): Promise<Uint8Array> {
  const length = Math.min(RANGE_BYTES, size - from);
  if (length <= 0) return new Uint8Array(0);
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}

/** Returns what `look` finds, now or after a change beside the file. Rejects with the signal's reason. */
async function whenChanged<T>(
  { path }: FoundFile,
  id: string,
  look: () => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T> {
  let change: Deferred<void>;
  const watcher = watched(dirname(path), id);
  watcher.on('change', () => change.resolve());
  watcher.on('error', () => change.resolve()); // the folder is gone, and with it the file
  try {
    for (;;) {
      change = deferred();
      const seen = await look();
      if (seen !== undefined) return seen;
      await raceAbort(change.promise, signal);
    }
  } finally {
    watcher.close();
  }
}

/** The kernel limits the folders that a user watches, and says `ENOSPC` then, although the disk has space. */
function watched(folder: string, id: string): FSWatcher {
  try {
    return watch(folder, { persistent: false });
  } catch (error) {
    throw notFound(id, `the system does not tell when it grows (${String(error)})`, error);
  }
}
