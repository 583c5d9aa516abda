import { stat } from 'node:fs/promises';
import { AanaError } from '../core/errors.ts';
import { videoReadingError } from './errors.ts';
import { runFfmpeg } from './ffmpeg.ts';
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
   * Channels of the first audio track. 0 without an audio track, `undefined` if the number for its layout is unknown.
   */
  readonly audioChannels: number | undefined;
}

const PROBE_TIMEOUT_MS = 60_000;
const PROBE_CPU_SECONDS = 30;

/** Describes the media file at `path`. Throws `VideoReadingException` if the file is not media. */
export async function probeFile(path: string, { ffmpegPath, source, signal }: ProbeOptions): Promise<Probe> {
  if ((await stat(path)).size === 0) throw videoReadingError(source, 'the file is empty');
  let stderr: string;
  try {
    // Without an output ffmpeg describes the input and then fails, so the exit code is not checked.
    ({ stderr } = await runFfmpeg(ffmpegPath, [], path, [], {
      signal,
      timeoutMs: PROBE_TIMEOUT_MS,
      cpuSeconds: PROBE_CPU_SECONDS,
    }));
  } catch (error) {
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw videoReadingError(source, 'reading the media took too long', error);
    throw error;
  }
  const probe = parseProbe(stderr);
  if (!probe) throw videoReadingError(source, `the file is not media that can be read (${complaint(stderr, path)})`);
  return probe;
}

/** Reads ffmpeg's description of its first input. Returns `undefined` if it has none, or neither audio nor video. */
export function parseProbe(stderr: string): Probe | undefined {
  const input = /^Input #0, .*$/m.exec(stderr);
  if (!input) return undefined;
  const description = stderr.slice(input.index);
  const streams = [...description.matchAll(/^ {2,4}Stream #0:\d+\S*: (Audio|Video): (.*)$/gm)].map(
    ([, kind, details = '']) => ({ kind, details }),
  );
  const audio = streams.find(({ kind }) => kind === 'Audio');
  const hasVideo = streams.some(({ kind, details }) => kind === 'Video' && !details.includes('(attached pic)'));
  if (!audio && !hasVideo) return undefined;
  const duration = parseDuration(description);
  return {
    info: { ...(duration !== undefined && { duration }), hasAudio: audio !== undefined, hasVideo },
    audioChannels: audio ? parseChannels(audio.details) : 0,
  };
}

function parseDuration(description: string): number | undefined {
  const match = /^ {2}Duration: (\d+):(\d{2}):(\d{2}(?:\.\d+)?),/m.exec(description);
  return match ? Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3]) : undefined;
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

/** Returns ffmpeg's reason without the path of the temporary file. */
export function complaint(stderr: string, path: string): string {
  if (/Format not on whitelist/.test(stderr)) return 'its format is not accepted';
  const lines = stderr
    .replaceAll(`file:${path}`, 'the file')
    .replaceAll(path, 'the file')
    .split('\n')
    .map((line) => line.replace(/^\[[^\]]*\]\s*/, '').trim());
  const said = lines
    .filter((line) => line !== '' && !/^(Error opening input files?\b|At least one output)/.test(line))
    .at(-1);
  return (said ?? lines.filter((line) => line !== '').at(-1) ?? 'no reason given').slice(0, 300);
}
