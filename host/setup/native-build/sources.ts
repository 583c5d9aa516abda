import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../../base/core/log/logger.ts';
import { boundedMap } from '../../base/core/async/bounded-map.ts';
import {
  extractMembers,
  fetchPackage,
  type PackageSource,
  type ReportProgress,
  shareProgress,
  withFileLock,
} from '../packages/index.ts';
import { LLAMA_SOURCE, PREBUILT_LIBRARIES, WHISPER_SOURCE } from './pins.ts';
import type { BuildMode } from './platform.ts';

const run = promisify(execFile);

/** Folders of llama.cpp that no build needs. They are two thirds of its size. */
const UNUSED_FOLDERS = ['models', 'docs', 'benches', 'media'];

export interface NativeSources {
  /** Source tree of llama.cpp. In prebuilt mode only its headers are used. */
  readonly llama: string;
  readonly whisper: string;
  /** Folder with libllama, libggml and the CPU backends. */
  readonly libraries: string | undefined;
}

export interface SourceOptions {
  /** Sources and libraries are unpacked into `<cacheDir>/native`. */
  readonly cacheDir: string;
  /** Platform of the libraries, such as `linux-arm64`. */
  readonly platform: string;
  readonly mode: BuildMode;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly report?: ReportProgress | undefined;
}

/**
 * Fetches all sources and libraries, at the same time, and unpacks them below `<cacheDir>/native`. Existing ones are
 * not fetched again.
 */
export async function prepareSources(options: SourceOptions): Promise<NativeSources> {
  const { mode, signal = new AbortController().signal, report = () => {} } = options;
  const begin = shareProgress(report);
  const nothing = async (): Promise<undefined> => undefined;
  const kinds = [fetchLlama, fetchWhisper, mode === 'prebuilt' ? fetchLibraries : nothing];
  return locked(options, 'sources', async (root) => {
    const [llama = '', whisper = '', libraries] = await boundedMap(kinds, kinds.length, signal, async (fetch, all) => {
      const part = begin();
      const folder = await fetch(root, { ...options, signal: all, report: part.report });
      part.done();
      return folder;
    });
    return { llama, whisper, libraries };
  });
}

async function fetchLlama(root: string, options: SourceOptions): Promise<string> {
  return once(root, 'llama.cpp', LLAMA_SOURCE, options, async (archive, dir) => {
    const bundle = 'package/llama/gitRelease.bundle';
    await extractMembers(archive, [bundle], `${dir}.bundle`);
    const git = (...args: string[]) => run('git', args, { signal: options.signal, env: options.env });
    try {
      await git('clone', '--quiet', '--no-checkout', join(`${dir}.bundle`, bundle), dir);
      const wanted = ['.', ...UNUSED_FOLDERS.map((folder) => `:!${folder}`)];
      await git('-C', dir, 'checkout', '--quiet', 'HEAD', '--', ...wanted);
    } finally {
      await rm(`${dir}.bundle`, { recursive: true, force: true });
    }
    await rm(join(dir, '.git'), { recursive: true, force: true });
  });
}

async function fetchWhisper(root: string, options: SourceOptions): Promise<string> {
  const folder = await once(root, 'whisper.cpp', WHISPER_SOURCE, options, (archive, dir) =>
    extractMembers(archive, /^package\/whisper\.cpp\/(include|src)\/|^package\/(whisper\.cpp\/)?LICENSE/, dir),
  );
  return join(folder, 'package', 'whisper.cpp');
}

async function fetchLibraries(root: string, options: SourceOptions): Promise<string | undefined> {
  const { platform } = options;
  const published = PREBUILT_LIBRARIES[platform];
  if (!published) return undefined;
  const folder = await once(root, platform, published, options, (archive, dir) =>
    extractMembers(archive, /^package\/bins\/[^/]+\/lib[^/]+$|LICENSE$/, dir),
  );
  return join(folder, 'package', 'bins', platform);
}

/** Runs `work` with the folder of the sources, one process at a time with this name. */
export async function locked<T>(
  { cacheDir, signal, log }: Pick<SourceOptions, 'cacheDir' | 'signal' | 'log'>,
  name: string,
  work: (root: string) => Promise<T>,
): Promise<T> {
  const root = join(cacheDir, 'native');
  await mkdir(root, { recursive: true });
  return withFileLock(join(root, `${name}.lock`), () => work(root), {
    signal,
    onWait: () => log.info('waiting for another process that prepares the native sources'),
  });
}

/**
 * Fills a folder once and returns it. It is filled under another name and then renamed, so it is complete or missing.
 */
export async function once(
  root: string,
  label: string,
  source: PackageSource,
  options: Omit<SourceOptions, 'platform' | 'mode' | 'env'>,
  fill: (archive: string, dir: string) => Promise<unknown>,
): Promise<string> {
  const dir = join(root, `${label}-${source.version}`);
  const stamp = join(dir, '.complete');
  if (existsSync(stamp)) return dir;
  const { cacheDir, log, signal, report } = options;
  log.info('fetching native sources', { package: source.name, version: source.version });
  const stage = `fetching ${source.name}`;
  const onProgress: ReportProgress = (bytes, total = source.bytes) => report?.(bytes, total, stage);
  const archive = await fetchPackage(source, { cacheDir, log, signal, onProgress });
  const partial = `${dir}.partial`;
  await rm(partial, { recursive: true, force: true });
  await fill(archive, partial);
  await writeFile(join(partial, '.complete'), `${source.integrity ?? ''}\n`);
  await rm(dir, { recursive: true, force: true });
  await rename(partial, dir);
  return dir;
}
