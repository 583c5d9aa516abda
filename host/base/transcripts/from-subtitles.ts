import type { AsrOutput, AsrSegment } from '../schemas/index.ts';
import { oneLine } from './one-line.ts';

const TIME = String.raw`(?:(\d{1,6}):)?(\d{1,2}):(\d{2})[.,](\d{3})`;
const TIMES = new RegExp(`^[ \\t]*${TIME}[ \\t]+-->[ \\t]+${TIME}(?:[ \\t]|$)`);
/** The beginning of a voice of WebVTT. */
const VOICE = /<v(?:\.[^\s<>]{0,100})?[ \t]([^<>]{0,1000})>/;
/** Tags, and positions such as `{\an8}` of SubRip. */
const TAGS = /<[^<>]*>|\{\\[^{}]*\}/g;

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&nbsp;': ' ',
  '&lrm;': '',
  '&rlm;': '',
};

/**
 * Returns the segments of subtitles in SubRip or WebVTT, in their order, with the speakers that WebVTT names. Other
 * blocks, such as notes and styles, and subtitles without a text are left out. A text without a line of times has no
 * segments.
 */
export function fromSubtitles(subtitles: string): AsrSegment[] {
  return [...subtitleSegments(subtitles)];
}

/**
 * Returns the segments of subtitles as a transcript. Of what language they are, and how sure their author was, is not
 * known: the language is empty.
 */
export const subtitlesTranscript = (segments: readonly AsrSegment[]): AsrOutput => ({
  segments: [...segments],
  transcription_info: { language: '', language_confidence: 0 },
  transcription: { text: segments.map(({ text }) => text).join('') },
});

/** Yields the segments that {@link fromSubtitles} returns. */
export function* subtitleSegments(subtitles: string): Generator<AsrSegment, void> {
  const lines = subtitles.split(/\r\n|\n|\r/);
  for (let at = 0; at < lines.length; at += 1) {
    const times = TIMES.exec(lines[at] ?? '');
    if (!times) continue;
    const first = at + 1;
    while (at + 1 < lines.length && (lines[at + 1] ?? '').trim() !== '') at += 1;
    const text = lines.slice(first, at + 1).join('\n');
    const [start, end] = [secondsOf(times.slice(1, 5)), secondsOf(times.slice(5, 9))];
    // A text without a speaker, and then names and texts in turn.
    const parts = ['', ...text.split(VOICE)];
    for (let n = 0; n < parts.length; n += 2) {
      const [speaker, spoken] = [plain(parts[n] ?? ''), plain(parts[n + 1] ?? '')];
      if (spoken !== '') yield segmentOf(spoken, start, Math.max(start, end), speaker);
    }
  }
}

function secondsOf([hours = '0', minutes = '0', seconds = '0', ms = '0']: readonly (string | undefined)[]): number {
  return (Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000 + Number(ms)) / 1000;
}

function plain(text: string): string {
  return oneLine(text.replaceAll(TAGS, '').replaceAll(/&\w{1,8};/g, (entity) => ENTITIES[entity] ?? entity));
}

function segmentOf(text: string, start: number, end: number, speaker: string): AsrSegment {
  return {
    text: ` ${text}`,
    time_interval: { start, end },
    confidence: null,
    no_speech_confidence: null,
    words: [],
    speaker: speaker === '' ? null : speaker,
  };
}
