import { constants } from 'node:fs';
import { access, lstat, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError, fail } from '../../base/core/errors.ts';
import { downloadError, type Guards, openGuardProxy } from '../outgoing/index.ts';
import { runContained, type RunContainedResult } from '../../base/processes/index.ts';
import { diskFullError, mediaTooLongError, urlTooLargeError } from './errors.ts';
import type { MediaSource } from './types.ts';

export interface PageOptions extends Guards {
  readonly ytDlpPath: string;
  /** The environment. Only the variables that programs need to run are passed on. */
  readonly env: NodeJS.ProcessEnv;
  readonly source: MediaSource;
  /** A new folder for all files of the download. */
  readonly folder: string;
  readonly maxBytes: number;
  readonly maxDurationS: number;
}

export interface PageMedia {
  readonly path: string;
  /** Title and description as the site gives them. */
  readonly title?: string;
  readonly description?: string;
}

const ADDRESS_FILE = 'address';
/**
 * Turns off scripts. Since 2025.11.12 yt-dlp runs scripts of some sites in a `deno` from the PATH unless it gets this
 * option. Earlier versions run no scripts and refuse the option.
 */
const NO_SCRIPTS = '--no-js-runtimes';
/** More than sites allow. Longer texts are cut. */
const MAX_TITLE_CHARS = 1_000;
const MAX_DESCRIPTION_CHARS = 65_536;
/** Bytes beyond the video: the page, its scripts, manifests and repeated requests. */
const SPARE_BYTES = 64 * 1024 * 1024;
/** Limits for Python and the scripts of some sites that yt-dlp interprets. */
const LIMITS = {
  nice: 10,
  cpuSeconds: 600,
  addressBytes: 2 ** 31,
  openFiles: 128,
  ownGroup: true,
  graceMs: 0,
} as const;
/**
 * Variables that a program needs to run and to find certificates. Others are not passed on, because they may be secrets
 * and the program reads content of strangers.
 */
const ENVIRONMENT = ['PATH', 'LANG', 'LC_ALL', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'] as const;

/** Returns the path. Throws `YtDlpNotFound` if it cannot be executed. */
export async function requireYtDlp(path: string): Promise<string> {
  try {
    await access(path, constants.X_OK);
    return path;
  } catch (error) {
    const why =
      error instanceof Error && 'code' in error && error.code === 'ENOENT'
        ? 'the file does not exist'
        : 'it is not executable';
    throw fail('YtDlpNotFound', `the configured yt-dlp ${path} (media.yt_dlp_path) cannot be run: ${why}`, {
      cause: error,
    });
  }
}

/**
 * Downloads the video of a site's page with yt-dlp: one file of at most `maxBytes` and `maxDurationS`, no live stream,
 * no playlist. All of its requests go through a proxy of this process, which applies the guards to them. Throws
 * `DownloadException` with the first part of yt-dlp's message, `PrivateAddressException`, `MediaTooLargeException`,
 * `MediaTooLongException`, `DiskFullException`, or the signal's reason.
 */
export async function downloadPage(url: URL, options: PageOptions): Promise<PageMedia> {
  const { folder, maxBytes, maxDurationS, source, ytDlpPath, signal } = options;
  await mkdir(folder, { mode: 0o700 });
  // A file, because the address may contain a password and all users of the machine can read command lines.
  await writeFile(join(folder, ADDRESS_FILE), url.href);
  await using proxy = await openGuardProxy({ ...options, maxBytes: maxBytes + SPARE_BYTES });
  const run = (more: readonly string[]): Promise<RunContainedResult> =>
    runContained(ytDlpPath, [...more, ...argumentsFor(options)], {
      ...LIMITS,
      cwd: folder,
      env: environment(options.env, folder, proxy.url),
      fileBytes: maxBytes + 1, // one byte more, so that a larger file is noticed
      timeoutMs: options.timeoutMs,
      signal,
    }).catch((error: unknown) => {
      if (error instanceof AanaError && error.name === 'ProcessTimeout')
        throw downloadError(url, `it took longer than ${options.timeoutMs / 1000} s`, error);
      throw error;
    });
  const first = await run([NO_SCRIPTS]);
  const result = first.stderr.includes(`no such option: ${NO_SCRIPTS}`) ? await run([]) : first;

  const found = parseInfo(result.stdout.toString());
  if (found.duration !== undefined && found.duration > maxDurationS)
    throw mediaTooLongError(source, maxDurationS, found.duration);
  if (found.isLive) throw downloadError(url, 'it is a live stream, which does not end');
  const file = await onlyFile(folder);
  if (file !== undefined && file.bytes > maxBytes) throw urlTooLargeError(url, maxBytes);
  const refusal = proxy.refusal();
  if (result.code === 0 && file) {
    const { title, description } = found;
    return {
      path: file.path,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
    };
  }
  if (refusal) throw refusal;
  throw failureOf(url, result, options);
}

function argumentsFor({ idleTimeoutMs, maxBytes, maxDurationS, folder }: PageOptions): string[] {
  return [
    ...[
      '--ignore-config',
      '--no-cache-dir',
      '--no-plugin-dirs',
      '--no-cookies',
      '--no-playlist',
      '--playlist-items',
      '1',
    ],
    ...['--quiet', '--no-progress', '--no-warnings', '--color', 'never'],
    // Download one file without merging or repairing it, so that no other program is started.
    ...[
      '--format',
      'b/ba/b*',
      '--fixup',
      'never',
      '--downloader',
      'native',
      '--ffmpeg-location',
      join(folder, 'none'),
      '--extractor-args',
      'youtube:skip=hls,dash',
    ],
    ...['--max-filesize', String(maxBytes), '--match-filters', `duration <=? ${maxDurationS} & !is_live`],
    ...[
      '--socket-timeout',
      String(Math.ceil(idleTimeoutMs / 1000)),
      '--retries',
      '2',
      '--fragment-retries',
      '2',
      '--extractor-retries',
      '1',
      '--file-access-retries',
      '0',
    ],
    ...[
      '--no-part',
      '--no-mtime',
      '--output',
      'media.%(ext)s',
      '--no-simulate',
      '--print',
      'pre_process:%(.{title,description,duration,is_live})j',
    ],
    ...['--batch-file', join(folder, ADDRESS_FILE)],
  ];
}

function environment(env: NodeJS.ProcessEnv, folder: string, proxy: string): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(ENVIRONMENT.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  // The proxy is in no argument either, because its URL has a password.
  const proxies = Object.fromEntries(
    ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [
      [name, proxy],
      [name.toUpperCase(), proxy],
    ]),
  );
  return { ...kept, ...proxies, HOME: folder, TMPDIR: folder, PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' };
}

interface Found {
  readonly title?: string;
  readonly description?: string;
  readonly duration?: number;
  readonly isLive: boolean;
}

/** Reads the first line, which describes the found video. */
function parseInfo(stdout: string): Found {
  let info: unknown;
  try {
    info = JSON.parse(stdout.split('\n')[0] ?? '');
  } catch {
    return { isLive: false };
  }
  const { title, description, duration, is_live: isLive } = (info ?? {}) as Record<string, unknown>;
  return {
    isLive: isLive === true,
    ...(typeof title === 'string' && { title: title.slice(0, MAX_TITLE_CHARS) }),
    ...(typeof description === 'string' && { description: description.slice(0, MAX_DESCRIPTION_CHARS) }),
    ...(typeof duration === 'number' && { duration }),
  };
}

async function onlyFile(folder: string): Promise<{ readonly path: string; readonly bytes: number } | undefined> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('media.'));
  const [name] = names;
  if (name === undefined || names.length > 1) return undefined;
  const path = join(folder, name);
  const info = await lstat(path);
  return info.isFile() && info.size > 0 ? { path, bytes: info.size } : undefined;
}

function failureOf(
  url: URL,
  { code, signal, stderr }: RunContainedResult,
  { folder, maxBytes }: PageOptions,
): AanaError {
  if (/No space left on device|Disk quota exceeded/.test(stderr)) return diskFullError(folder);
  if (/File too large/.test(stderr)) return urlTooLargeError(url, maxBytes);
  if (signal) return downloadError(url, `yt-dlp was killed by ${signal}`);
  // Cut like in the original SDK: the rest of the message asks to report an issue.
  const said = stderr
    .split('\n')
    .find((line) => line.startsWith('ERROR: '))
    ?.slice('ERROR: '.length)
    .split(';')[0]
    ?.trim();
  return downloadError(
    url,
    said
      ? said.slice(0, 300)
      : code === 0
        ? `it leads to no video of at most ${maxBytes} bytes`
        : `yt-dlp exited with code ${code}`,
  );
}
