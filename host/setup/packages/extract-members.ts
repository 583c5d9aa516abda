import { createWriteStream } from 'node:fs';
import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import * as tar from 'tar';
import yauzl from 'yauzl';
import { AanaError, fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';

export interface ExtractOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of inflated bytes so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** Called with each regular file of the archive. Must consume or destroy `content`, which should have `size` bytes. */
type OnEntry = (name: string, executable: boolean, content: () => Promise<Readable>, size: number) => Promise<void>;

/**
 * Extracts members of a zip (wheel) or a gzipped tar to `destDir` and returns their paths, in the order of `members`,
 * or of the archive if `members` is a pattern. Files are written atomically. Throws `ArchiveError` for a missing
 * member, an unsafe name or a damaged archive.
 */
export async function extractMembers(
  archivePath: string,
  members: readonly string[] | RegExp,
  destDir: string,
  options: ExtractOptions = {},
): Promise<string[]> {
  const wanted = members instanceof RegExp ? undefined : new Set(members);
  const pathByName = new Map<string, string>();
  let bytes = 0;
  const onEntry: OnEntry = async (name, executable, content, size) => {
    if (
      members instanceof RegExp
        ? !new RegExp(members.source, members.flags.replace(/[gy]/g, '')).test(name)
        : !wanted?.has(name)
    )
      return;
    const target = safeTarget(archivePath, destDir, name);
    await mkdir(path.dirname(target), { recursive: true });
    const partial = `${target}.${randomSuffix()}.partial`;
    try {
      const counted = await content();
      let own = 0;
      counted.on('data', (chunk: Buffer) => {
        own += chunk.length;
        bytes += chunk.length;
        options.onProgress?.(bytes);
      });
      await pipeline(counted, createWriteStream(partial), { signal: options.signal });
      requireSize(name, own, size);
      if (executable) await chmod(partial, 0o755);
      await rename(partial, target);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    pathByName.set(name, target);
  };
  await eachEntry(archivePath, onEntry, options.signal, () => wanted !== undefined && pathByName.size === wanted.size);
  if (members instanceof RegExp) return [...pathByName.values()];
  return members.map((name) => {
    const found = pathByName.get(name);
    if (found === undefined) throw missingMember(archivePath, name);
    return found;
  });
}

/**
 * Passes the content of one member of a zip (wheel) or a gzipped tar on, piece by piece, without a file between. Throws
 * `ArchiveError` for a missing member or a damaged archive.
 */
export async function readMember(
  archivePath: string,
  member: string,
  write: (piece: Buffer) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let isRead = false;
  const onEntry: OnEntry = async (name, _executable, content, size) => {
    if (name !== member) return;
    let own = 0;
    for await (const piece of (await content()) as AsyncIterable<Buffer>) {
      own += piece.length;
      await write(piece);
    }
    requireSize(name, own, size);
    isRead = true;
  };
  await eachEntry(archivePath, onEntry, signal, () => isRead);
  if (!isRead) throw missingMember(archivePath, member);
}

function requireSize(name: string, bytes: number, size: number): void {
  if (bytes !== size) throw new Error(`${name} has ${bytes} bytes, and should have ${size}`);
}

/** Throws `ArchiveError` for a damaged archive. */
async function eachEntry(
  archivePath: string,
  onEntry: OnEntry,
  signal: AbortSignal | undefined,
  isDone: () => boolean,
): Promise<void> {
  signal?.throwIfAborted();
  try {
    if (await isZip(archivePath)) await eachZipEntry(archivePath, onEntry, signal, isDone);
    else await eachTarEntry(archivePath, onEntry, signal);
  } catch (error) {
    signal?.throwIfAborted();
    const foreign =
      error instanceof AanaError || (error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code)));
    if (foreign) throw error; // our own error, or one of the disk
    throw archiveError(archivePath, `it is damaged (${error instanceof Error ? error.message : String(error)})`, error);
  }
}

async function isZip(file: string): Promise<boolean> {
  await using handle = await open(file, 'r');
  const head = Buffer.alloc(2);
  await handle.read(head, 0, 2, 0);
  return head.toString('latin1') === 'PK';
}

async function eachZipEntry(
  file: string,
  onEntry: OnEntry,
  signal: AbortSignal | undefined,
  isDone: () => boolean,
): Promise<void> {
  const zip = await new Promise<yauzl.ZipFile>((resolve, reject) => {
    yauzl.open(file, { lazyEntries: true, autoClose: false }, (error, opened) =>
      error ? reject(error) : resolve(opened),
    );
  });
  try {
    await new Promise<void>((resolve, reject) => {
      zip.on('error', reject);
      zip.on('end', resolve);
      zip.on('entry', (entry: yauzl.Entry) => {
        const mode = entry.externalFileAttributes >>> 16;
        const handle = async (): Promise<void> => {
          if (!entry.fileName.endsWith('/'))
            await onEntry(entry.fileName, (mode & 0o111) !== 0, () => contentOf(zip, entry), entry.uncompressedSize);
          signal?.throwIfAborted();
          if (isDone()) resolve();
          else zip.readEntry();
        };
        handle().catch(reject);
      });
      zip.readEntry();
    });
  } finally {
    zip.close();
  }
}

/** Opens the content of an entry, whose length the caller compares. */
async function contentOf(zip: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  const isDeflated = entry.compressionMethod === 8;
  const asItIs = { decompress: isDeflated ? false : null, decrypt: null, start: null, end: null };
  const packed = await new Promise<Readable>((opened, failed) =>
    zip.openReadStream(entry, asItIs, (error, stream) => (error ? failed(error) : opened(stream))),
  );
  if (!isDeflated) return packed;
  // yauzl inflates in pieces of 16 KiB, with which unpacking a model takes a quarter more CPU time.
  const inflate = createInflateRaw({ chunkSize: 256 * 1024 });
  packed.on('error', (error) => inflate.destroy(error)).pipe(inflate);
  return inflate.once('close', () => packed.destroy());
}

async function eachTarEntry(file: string, onEntry: OnEntry, signal: AbortSignal | undefined): Promise<void> {
  const pending: Promise<void>[] = [];
  let failure: { readonly error: unknown } | undefined;
  await tar.list({
    file,
    strict: true,
    noResume: true, // entries are read or skipped below
    onReadEntry: (entry) => {
      if (entry.type !== 'File' && entry.type !== 'OldFile') {
        entry.resume();
        return;
      }
      let read = false;
      const content = async (): Promise<Readable> => {
        read = true;
        return Readable.from(entry);
      };
      const handle = async (): Promise<void> => {
        try {
          await onEntry(entry.path, ((entry.mode ?? 0) & 0o111) !== 0, content, entry.size ?? 0);
          if (!read) entry.resume();
        } catch (error) {
          failure ??= { error };
          entry.resume();
        }
      };
      pending.push(handle()); // the parser continues when an entry was read, possibly before it is written
    },
  });
  await Promise.all(pending);
  if (failure) throw failure.error;
  signal?.throwIfAborted();
}

/** Returns the path of a member. Throws for names that would leave `destDir`. */
function safeTarget(archivePath: string, destDir: string, name: string): string {
  const parts = name.split('/');
  if (
    name.startsWith('/') ||
    name.includes('\\') ||
    name.includes('\0') ||
    parts.some((part) => part === '..' || /^[A-Za-z]:$/.test(part))
  ) {
    throw archiveError(archivePath, `it has a member with an unsafe name: ${JSON.stringify(name)}`);
  }
  return path.join(path.resolve(destDir), ...parts);
}

function missingMember(archivePath: string, name: string): AanaError {
  return archiveError(archivePath, `it has no member ${name}`);
}

function archiveError(archivePath: string, reason: string, cause?: unknown): AanaError {
  return fail('ArchiveError', `${path.basename(archivePath)} cannot be unpacked: ${reason}`, {
    cause,
  });
}
