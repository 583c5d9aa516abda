import { stat } from 'node:fs/promises';
import { AanaError } from '../../base/core/errors.ts';
import { videoReadingError } from './errors.ts';
import { runFfmpeg } from './ffmpeg.ts';
import { parseTexts, type Texts } from './video/texts.ts';
import { parseVideoTrack, type VideoTrack } from './video/video-track.ts';
import type { MediaSource, VideoInfo } from './types.ts';

export interface ProbeOptions {
  readonly ffmpegPath: string;
  /** The source as the client gave it, for errors. */
  readonly source: MediaSource;
  readonly signal?: AbortSignal | undefined;
}

export interface Probe {
  readonly info: VideoInfo;
  /**
   * Seconds: the time of the earliest packet of all tracks, which a player shows as 0. Missing if the file has no
   * times.
   */
  readonly start?: number;
  readonly audioTracks: readonly AudioTrack[];
  /** Without pictures of covers. */
  readonly videoTracks: readonly VideoTrack[];
  readonly subtitleTracks: readonly SubtitleTrack[];
  readonly texts: Texts;
}

export interface SubtitleTrack {
  /** Number among all tracks of the file, from 0 on. */
  readonly stream: number;
  readonly codec: string;
  /** As the file says it, such as `eng`. */
  readonly language?: string;
}

export interface AudioTrack {
  /** Number among all tracks of the file, from 0 on. */
  readonly stream: number;
  readonly codec: string;
  /** As the file says it, such as `eng`. */
  readonly language?: string;
  readonly isDefault: boolean;
  /** `undefined` if the number for its layout is unknown. */
  readonly channels: number | undefined;
}

const PROBE_TIMEOUT_MS = 60_000;
const PROBE_CPU_SECONDS = 30;
/** Titles, descriptions and chapters of a file. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** Describes the media file at `path`. Throws `VideoReadingException` if the file is not media. */
export async function probeFile(path: string, { ffmpegPath, source, signal }: ProbeOptions): Promise<Probe> {
  if ((await stat(path)).size === 0) throw videoReadingError(source, 'the file is empty');
  let stderr: string;
  let stdout: Buffer;
  try {
    // ffmpeg describes the input on stderr, and writes its texts, which are of strangers, in a form that can be read
    // safely. It fails for what is not media, so the exit code is not checked.
    ({ stderr, stdout } = await runFfmpeg(ffmpegPath, [], path, ['-f', 'ffmetadata', 'pipe:1'], {
      signal,
      timeoutMs: PROBE_TIMEOUT_MS,
      cpuSeconds: PROBE_CPU_SECONDS,
      maxStdoutBytes: MAX_TEXT_BYTES,
    }));
  } catch (error) {
    if (error instanceof AanaError && error.name === 'ProcessOutputTooLarge')
      throw videoReadingError(source, `its titles and chapters have more than ${MAX_TEXT_BYTES} bytes`, error);
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw videoReadingError(source, 'reading the media took too long', error);
    throw error;
  }
  const probe = parseProbe(stderr, stdout.toString());
  if (!probe) throw videoReadingError(source, `the file is not media that can be read (${complaint(stderr, path)})`);
  return probe;
}

/**
 * Reads ffmpeg's description of its first input, and its texts in the form of ffmetadata. Returns `undefined` if it has
 * none, or neither audio nor video.
 */
export function parseProbe(stderr: string, texts = ''): Probe | undefined {
  // Texts of the file have no line breaks of ffmpeg's, but may have others.
  const safe = stderr.replace(/[\r\u2028\u2029]/g, ' ');
  const input = /^Input #0, .*$/m.exec(safe);
  if (!input) return undefined;
  const description = safe.slice(input.index);
  const streams = streamsOf(description);
  const audioTracks = streams
    .filter(({ kind }) => kind === 'Audio')
    .map(({ stream, language, details }): AudioTrack => ({
      stream,
      codec: codecOf(details),
      ...(language !== undefined && { language }),
      isDefault: details.includes('(default)'),
      channels: parseChannels(details),
    }));
  const videoTracks = streams
    .filter(({ kind, details }) => kind === 'Video' && !details.includes('(attached pic)'))
    .map(({ stream, language, details, block }) => parseVideoTrack(stream, language, details, block));
  if (audioTracks.length === 0 && videoTracks.length === 0) return undefined;
  const start = parseStart(description);
  const duration = parseDuration(description, start);
  return {
    info: {
      ...(duration !== undefined && { duration }),
      hasAudio: audioTracks.length > 0,
      hasVideo: videoTracks.length > 0,
    },
    ...(start !== undefined && { start }),
    ...{ audioTracks, videoTracks, texts: parseTexts(texts, start) },
    subtitleTracks: streams
      .filter(({ kind }) => kind === 'Subtitle')
      .map(({ stream, language, details }) => ({
        stream,
        codec: codecOf(details),
        ...(language !== undefined && { language }),
      })),
  };
}

interface Stream {
  readonly stream: number;
  readonly language: string | undefined;
  readonly kind: string;
  readonly details: string;
  /** The lines about it that follow. */
  readonly block: string;
}

function streamsOf(description: string): Stream[] {
  const heads = [...description.matchAll(/^ {2,4}Stream #0:(\d+)(?:\[\w+\])?(?:\((\w+)\))?: (\w+): (.*)$/gm)];
  return heads.map(({ index, 0: head, 1: stream, 2: language, 3: kind = '', 4: details = '' }, at) => ({
    ...{ stream: Number(stream), kind, details, block: description.slice(index + head.length, heads[at + 1]?.index) },
    language: language === 'und' ? undefined : language,
  }));
}

const codecOf = (details: string): string => /^\w+/.exec(details)?.[0] ?? 'unknown';

function parseStart(description: string): number | undefined {
  const match = /^ {2}Duration: [^,]+, start: (-?\d+\.\d+),/m.exec(description);
  return match ? Number(match[1]) : undefined;
}

function parseDuration(description: string, start = 0): number | undefined {
  const match = /^ {2}Duration: (\d+):(\d{2}):(\d{2}(?:\.\d+)?),/m.exec(description);
  if (!match) return undefined;
  const duration = Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]);
  // Matroska says the time of its end.
  const isEnd = description.startsWith('Input #0, matroska') && start > 0 && duration > start;
  return isEnd ? Math.round((duration - start) * 1e6) / 1e6 : duration;
}

const NAMED_LAYOUTS: Readonly<Record<string, number>> = {
  mono: 1,
  stereo: 2,
  downmix: 2,
  binaural: 2,
  quad: 4,
  hexagonal: 6,
  octagonal: 8,
  cube: 8,
  hexadecagonal: 16,
};

/**
 * Reads the number of channels from `… 48000 Hz, 5.1(side), fltp …`. After the sample rate stands a name, speakers by
 * level, or a number.
 */
function parseChannels(details: string): number | undefined {
  const layout = /\d+ Hz, ([^,]+)/.exec(details)?.[1]?.trim() ?? '';
  const counted = /^(\d+) channels/.exec(layout)?.[1];
  if (counted !== undefined) return Number(counted);
  const name = layout.replace(/\s*\(.*$/, '');
  if (/^\d+(\.\d+)+$/.test(name)) return name.split('.').reduce((sum, part) => sum + Number(part), 0);
  return NAMED_LAYOUTS[name];
}

/** Lines of ffmpeg that say that it failed, before or after a line that says why. */
const FAILED = /^(?:Error opening input(?: files?\b[^:]*)?: |the file: )/;

/** Lines of ffmpeg about what follows from an error. */
const CONSEQUENCE = new RegExp(
  [
    '^(?:At least one output|Error opening input files? the file\\.?$|Nothing was written|Task finished|Terminating',
    'Error submitting packet|Decode error rate|Cannot determine format|Could not open encoder|Conversion failed',
    'Could not find codec parameters|Consider increasing|Codec AVOption)',
  ].join('|'),
);

/**
 * Returns ffmpeg's reason without names of its parts and the path of the temporary file. `path` is what ffmpeg was told
 * to read.
 */
export function complaint(stderr: string, path: string): string {
  if (/Format not on whitelist/.test(stderr)) return 'its format is not accepted';
  const [problems = ''] = stderr.split(/^Input #0, /m, 1); // behind it are texts of the file
  const lines = problems
    .replaceAll(`file:${path}`, 'the file')
    .replaceAll(path, 'the file')
    .split('\n')
    .map((line) => line.replace(/^(?:\[[^\]]*\]\s*)+/, '').trim())
    .filter((line) => line !== '' && !CONSEQUENCE.test(line));
  const reason = lines.findLast((line) => !FAILED.test(line)) ?? lines.at(-1)?.replace(FAILED, '');
  return (reason ?? (stderr.trim() === '' ? 'no reason given' : 'its data are damaged or cut')).slice(0, 300);
}
