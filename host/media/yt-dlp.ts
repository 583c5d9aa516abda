import { constants } from 'node:fs';
import { access, lstat, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError } from '../core/errors.ts';
import { downloadError, type Guards, openGuardProxy } from '../outgoing/index.ts';
import { runContained, type RunContainedResult } from '../processes/index.ts';
import { diskFullError, mediaTooLongError, urlTooLargeError } from './errors.ts';
import type { MediaSource } from './types.ts';

export interface PageOptions extends Guards {
  readonly ytDlpPath: string;
  /** The environment of which it gets what programs need to run, and nothing else. */
  readonly env: NodeJS.ProcessEnv;
  readonly source: MediaSource;
  /** A new folder, which everything is written to. */
  readonly folder: string;
  readonly maxBytes: number;
  readonly maxDurationS: number;
}

export interface PageMedia {
  readonly path: string;
  /** As the site tells them. */
  readonly title?: string;
  readonly description?: string;
}

const ADDRESS_FILE = 'address';
/**
 * Since 2025.11.12 yt-dlp runs scripts of some sites in a `deno` that PATH has, unless it is told not to. Versions
 * before it run none, and refuse the option.
 */
const NO_SCRIPTS = '--no-js-runtimes';
/** More than sites allow; what is longer is cut. */
const MAX_TITLE_CHARS = 1_000;
const MAX_DESCRIPTION_CHARS = 65_536;
/** Beyond the video: the page, its scripts, manifests, and what is asked again. */
const SPARE_BYTES = 64 * 1024 * 1024;
/** Python, and the work of some sites' own scripts. */
const LIMITS = {
  nice: 10,
  cpuSeconds: 600,
  addressBytes: 2 ** 31,
  openFiles: 128,
  ownGroup: true,
  graceMs: 0,
} as const;
/**
 * What a program needs to run, and where it finds certificates; the rest may be secrets, and what it reads comes from
 * strangers.
 */
const ENVIRONMENT = ['PATH', 'LANG', 'LC_ALL', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'] as const;

/** Throws `YtDlpNotFound` for a path that cannot be run. */
export async function requireYtDlp(path: string): Promise<string> {
  try {
    await access(path, constants.X_OK);
    return path;
  } catch (error) {
    const why =
      error instanceof Error && 'code' in error && error.code === 'ENOENT'
        ? 'there is no such file'
        : 'it is not executable';
    throw new AanaError(
      'YtDlpNotFound',
      'invalid-input',
      `the configured yt-dlp ${path} (media.yt_dlp_path) cannot be run: ${why}`,
      { cause: error },
    );
  }
}

/**
 * Downloads the video of a site's page with yt-dlp: one file of at most `maxBytes` and `maxDurationS`, no live stream,
 * no playlist. All of its requests go through a proxy of this process, which holds them to the guards. Throws
 * `DownloadException` with the first part of what yt-dlp said, `PrivateAddressException`, `MediaTooLargeException`,
 * `MediaTooLongException`, `DiskFullException`, or the signal's reason.
 */
export async function downloadPage(url: URL, options: PageOptions): Promise<PageMedia> {
  const { folder, maxBytes, maxDurationS, source, ytDlpPath, signal } = options;
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, ADDRESS_FILE), url.href); // may hold a password, and command lines can be read by every user of the machine
  await using proxy = await openGuardProxy({ ...options, maxBytes: maxBytes + SPARE_BYTES });
  const run = (more: readonly string[]): Promise<RunContainedResult> =>
    runContained(ytDlpPath, [...more, ...argumentsFor(options)], {
      ...LIMITS,
      cwd: folder,
      env: environment(options.env, folder, proxy.url),
      fileBytes: maxBytes + 1, // so that what is larger shows
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
  if (found.isLive) throw downloadError(url, 'it is a live stream, which has no end');
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
    // one file as it comes: nothing is merged or mended, so no other program is started
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
  // in no argument either
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

/** The first line, which describes the video that was found. */
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
  if (signal) return downloadError(url, `yt-dlp was ended by ${signal}`);
  // as the original cuts it; what follows asks to report an issue
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
        : `yt-dlp ended with ${code}`,
  );
}
