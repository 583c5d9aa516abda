import type { ChildProcess, StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cancelledError, fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { type RunContainedResult, runContained, spawnContained } from '../../base/processes/index.ts';

export interface FfmpegLocation {
  readonly path: string;
  readonly source: 'configured' | 'ffmpeg-static' | 'system' | 'cached';
  readonly version: string;
}

export interface FindFfmpegOptions {
  /** The operator's choice. If set, nothing else is tried. */
  readonly configured?: string | null | undefined;
  /** A program that was fetched earlier. */
  readonly cached?: string | null | undefined;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
}

const CHECK_TIMEOUT_MS = 15_000;

/**
 * Returns the first ffmpeg that runs: the configured path, the binary of the optional package ffmpeg-static, the
 * system's, or the cached one. Returns `undefined` if none runs. Throws `FfmpegNotFound` if the configured one does not
 * run.
 */
export async function findFfmpeg(options: FindFfmpegOptions): Promise<FfmpegLocation | undefined> {
  const { configured, cached, log, signal } = options;
  if (configured) {
    const version = await versionOf(configured, signal);
    if (version instanceof Error) {
      throw fail('FfmpegNotFound', `the configured ffmpeg ${configured} does not run: ${version.message}`, {
        cause: version,
      });
    }
    return { path: configured, source: 'configured', version };
  }
  const places = [
    { source: 'ffmpeg-static', find: staticBinary },
    { source: 'system', find: () => systemBinary(signal) },
    { source: 'cached', find: async () => cached ?? undefined },
  ] as const;
  for (const { source, find } of places) {
    const path = await find();
    if (path === undefined || !existsSync(path)) continue;
    const version = await versionOf(path, signal);
    if (!(version instanceof Error)) {
      log.info('ffmpeg found', { path, source, version });
      return { path, source, version };
    }
    log.warn('ffmpeg does not run', { path, source, reason: version.message });
  }
  return undefined;
}

/**
 * Limits of one ffmpeg process. Measured address space: less than 256 MiB for audio of any format, more for probing 4K
 * video.
 */
const FFMPEG_LIMITS = { nice: 10, addressBytes: 2 ** 31, openFiles: 64, ownGroup: true, graceMs: 0 } as const;

/**
 * The formats that may be opened as media. Playlists, concat scripts and the like are missing, because they make ffmpeg
 * open other files and addresses. Pictures and texts are missing too.
 */
const FORMATS = [
  ...[
    'mov,mp4,m4a,3gp,3g2,mj2',
    'matroska,webm',
    'avi',
    'asf',
    'flv',
    'live_flv',
    'mpeg',
    'mpegts',
    'mpegvideo',
    'm4v',
    'h264',
    'hevc',
    'ivf',
    'mxf',
    'nut',
    'rm',
    'dv',
    'gif',
  ],
  ...[
    'wav',
    'w64',
    'mp3',
    'flac',
    'ogg',
    'aac',
    'ac3',
    'eac3',
    'dts',
    'truehd',
    'aiff',
    'au',
    'caf',
    'amr',
    'ape',
    'wv',
    'tta',
    'tak',
    'gsm',
  ],
].join(',');

/** The options before `-i`: ffmpeg may open only this file, in a known format, and nothing that the file refers to. */
const INPUT_GUARDS = [
  '-nostdin',
  '-hide_banner',
  '-protocol_whitelist',
  'file,pipe',
  '-format_whitelist',
  FORMATS,
  '-threads',
  '1',
] as const;

export interface RunFfmpegOptions {
  /** The folder of relative output names. Default: the folder of this process. */
  readonly cwd?: string | undefined;
  readonly timeoutMs: number;
  readonly cpuSeconds: number;
  readonly fileBytes?: number | undefined;
  readonly maxStdoutBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Runs `ffmpeg <before> -i file <after>` in a contained process. The process has ended when the promise settles. */
export function runFfmpeg(
  ffmpegPath: string,
  before: readonly string[],
  file: string,
  after: readonly string[],
  options: RunFfmpegOptions,
): Promise<RunContainedResult> {
  return runContained(ffmpegPath, argumentsOf(before, file, after), { ...FFMPEG_LIMITS, ...options });
}

export interface SpawnFfmpegOptions {
  readonly stdio: StdioOptions;
  readonly cpuSeconds?: number | undefined;
  readonly signal: AbortSignal;
}

/** Starts the same process, whose output the caller reads while it runs. Without a file it reads its stdin. */
export function spawnFfmpeg(
  ffmpegPath: string,
  before: readonly string[],
  file: string | undefined,
  after: readonly string[],
  options: SpawnFfmpegOptions,
): ChildProcess {
  return spawnContained(ffmpegPath, argumentsOf(before, file, after), { ...FFMPEG_LIMITS, ...options });
}

function argumentsOf(before: readonly string[], file: string | undefined, after: readonly string[]): string[] {
  return [...INPUT_GUARDS, ...before, '-i', file === undefined ? 'pipe:0' : `file:${file}`, ...after];
}

async function staticBinary(): Promise<string | undefined> {
  const name = 'ffmpeg-static'; // a variable, because the package and its types are optional
  try {
    const { default: path } = (await import(name)) as { default: unknown };
    return typeof path === 'string' ? path : undefined;
  } catch {
    return undefined;
  }
}

async function systemBinary(signal: AbortSignal | undefined): Promise<string | undefined> {
  const [command, args] =
    process.platform === 'win32' ? (['where', ['ffmpeg']] as const) : (['sh', ['-c', 'command -v ffmpeg']] as const);
  const { code, stdout } = await runContained(command, args, { signal, timeoutMs: CHECK_TIMEOUT_MS });
  return code === 0 ? stdout.toString().split(/\r?\n/)[0]?.trim() || undefined : undefined;
}

async function versionOf(path: string, signal: AbortSignal | undefined): Promise<string | Error> {
  try {
    const {
      code,
      signal: endedBy,
      stdout,
    } = await runContained(path, ['-version'], { ...FFMPEG_LIMITS, signal, timeoutMs: CHECK_TIMEOUT_MS });
    const version = /^ffmpeg version (\S+)/m.exec(stdout.toString())?.[1];
    return (
      version ??
      new Error(
        `\`-version\` ${endedBy ? `was killed by ${endedBy}` : `exited with ${code}`} without printing a version`,
      )
    );
  } catch (error) {
    if (signal?.aborted) throw signal.reason ?? cancelledError();
    return error instanceof Error ? error : new Error(String(error));
  }
}
