import type { Probe, SubtitleTrack } from '../probe.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { videoReadingError } from '../errors.ts';
import { runFfmpeg } from '../ffmpeg.ts';
import { complaint } from '../probe.ts';
import type { MediaSource } from '../types.ts';

export interface ReadSubtitlesOptions {
  readonly ffmpegPath: string;
  readonly source: MediaSource;
  readonly maxDurationS: number;
  readonly signal?: AbortSignal | undefined;
}

/** Bytes of the subtitles of one track. Those of ten hours of speech have one million. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Kinds of tracks whose subtitles are pictures. */
const PICTURES = /^(?:dvd_subtitle|dvb_subtitle|hdmv_pgs_subtitle|xsub|dvb_teletext)$/;

/**
 * Returns the subtitles of a track of the file at `path` in SubRip, with times from the start of the file. `number`
 * counts the tracks of subtitles from 0 on; default: the first one. Throws `VideoReadingException` for a track that
 * does not exist or has no texts.
 */
export async function readSubtitles(
  path: string,
  { subtitleTracks, start = 0 }: Probe,
  number: number | undefined,
  { ffmpegPath, source, maxDurationS, signal }: ReadSubtitlesOptions,
): Promise<string> {
  const track = subtitleTracks[number ?? 0];
  if (!track) throw videoReadingError(source, missing(subtitleTracks, number));
  if (PICTURES.test(track.codec))
    throw videoReadingError(source, `the subtitles of track ${number ?? 0} are pictures (${track.codec}), not texts`);
  const cpuSeconds = 60 + maxDurationS / 20; // the whole file is read
  const after = ['-map', `0:${track.stream}`, '-c:s', 'srt', '-f', 'srt', 'pipe:1'];
  const before = ['-v', 'error', '-itsoffset', String(-start)];
  const { code, stdout, stderr } = await runFfmpeg(ffmpegPath, [...before, '-copyts'], path, after, {
    ...{ cpuSeconds, timeoutMs: cpuSeconds * 5000, maxStdoutBytes: MAX_BYTES, signal },
  }).catch((error: unknown) => {
    if (error instanceof AanaError && error.name === 'ProcessOutputTooLarge')
      throw videoReadingError(source, `its subtitles have more than ${MAX_BYTES} bytes`, error);
    if (error instanceof AanaError && error.name === 'ProcessTimeout')
      throw videoReadingError(source, 'reading the subtitles took too long', error);
    throw error;
  });
  if (code !== 0) throw videoReadingError(source, `the subtitles cannot be read (${complaint(stderr, path)})`);
  return stdout.toString();
}

function missing(tracks: readonly SubtitleTrack[], number: number | undefined): string {
  if (tracks.length === 0) return 'the file has no subtitles';
  const shown = tracks.map(({ language }, at) => (language === undefined ? String(at) : `${at} (${language})`));
  return `the file has no track ${number} of subtitles; its tracks are ${shown.join(', ')}`;
}
