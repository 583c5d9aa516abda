import type { AsrOutput, AsrSegment } from '../schemas/index.ts';
import type { SubtitleOptions } from './formats.ts';
import { brokenLines, charactersOf, type Span } from './lines.ts';
import { oneLine } from './one-line.ts';
import { milliseconds } from './times.ts';

/** A part of a line. */
export interface Piece {
  readonly text: string;
  /** Whether it is a word that is spoken now. */
  readonly isSpoken: boolean;
}

/** Lines that are shown from `startMs` until `endMs`, which is later. */
export interface Cue {
  readonly startMs: number;
  readonly endMs: number;
  readonly lines: readonly (readonly Piece[])[];
  readonly speaker: string | undefined;
}

/** Returns the subtitles of a transcript in the order of their beginnings. Segments without text have none. */
export function cuesOf({ segments }: AsrOutput, options: SubtitleOptions = {}): Cue[] {
  return segments.flatMap((segment) => cuesOfSegment(segment, options)).sort((a, b) => a.startMs - b.startMs);
}

/** A word, or a whole segment whose words are unknown. */
interface Timed {
  readonly text: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** One character of a segment. A space belongs to no word. */
interface Character {
  readonly text: string;
  readonly word: number;
  readonly startMs: number;
  readonly endMs: number;
}

function cuesOfSegment(segment: AsrSegment, options: SubtitleOptions): Cue[] {
  const text = oneLine(segment.text);
  if (text === '') return [];
  const whole = { text, ...timesOf(segment.time_interval) };
  const speaker = oneLine(segment.speaker ?? '') || undefined;
  const cue = ({ startMs, endMs }: Omit<Timed, 'text'>, lines: Cue['lines']): Cue => ({
    startMs,
    endMs: Math.max(endMs, startMs + 1), // players never show a cue without a duration
    lines,
    speaker,
  });
  const { max_line_width: width, max_line_count: count, highlight_words: highlights } = options;
  if (width == null && !highlights) return [cue(whole, [[{ text, isSpoken: false }]])];

  const words = timedWords(segment, text);
  const characters = timedCharacters(words ?? [whole]);
  const lines = brokenLines(
    characters.map((one) => one.text),
    width ?? characters.length,
  );
  return groupsOf(lines, count ?? lines.length).flatMap((group, n, groups) => {
    const first = characters[group[0]?.from ?? 0];
    const last = characters[(group.at(-1)?.to ?? 1) - 1];
    const shown = {
      startMs: n === 0 || !first ? whole.startMs : first.startMs,
      endMs: n === groups.length - 1 || !last ? whole.endMs : last.endMs,
    };
    const printed = (word?: number): Cue['lines'] => group.map((line) => piecesOf(characters, line, word));
    if (!highlights || !words) return [cue(shown, printed())];
    return spokenParts(characters, group, words, shown).map(({ word, ...times }) => cue(times, printed(word)));
  });
}

function timesOf({ start, end }: AsrSegment['time_interval']): Omit<Timed, 'text'> {
  const startMs = milliseconds(start);
  return { startMs, endMs: Math.max(startMs, milliseconds(end)) };
}

/** Returns the words of a segment, if they have its whole text. The text of a segment is never changed. */
function timedWords({ words }: AsrSegment, text: string): readonly Timed[] | undefined {
  if (words.length === 0 || oneLine(words.map(({ word }) => word).join('')) !== text) return undefined;
  return words.map(({ word, time_interval: times }) => ({ text: word, ...timesOf(times) }));
}

/** Divides the time of each word between its characters. */
function timedCharacters(words: readonly Timed[]): Character[] {
  const found: Character[] = [];
  let isAfterSpace = true;
  const space = (at: number): void => {
    if (!isAfterSpace) found.push({ text: ' ', word: -1, startMs: at, endMs: at });
    isAfterSpace = true;
  };
  words.forEach(({ text, startMs, endMs }, word) => {
    const line = oneLine(text);
    const characters = charactersOf(line);
    const timeOf = (n: number): number => Math.round(startMs + ((endMs - startMs) * n) / characters.length);
    if (/^\s/u.test(text)) space(startMs);
    characters.forEach((character, n) => {
      if (character === ' ') return space(timeOf(n));
      found.push({ text: character, word, startMs: timeOf(n), endMs: timeOf(n + 1) });
      isAfterSpace = false;
    });
    if (line !== '' && /\s$/u.test(text)) space(endMs);
  });
  return found;
}

function groupsOf<T>(all: readonly T[], size: number): T[][] {
  const groups: T[][] = [];
  for (let at = 0; at < all.length; at += size) groups.push(all.slice(at, at + size));
  return groups;
}

/** Returns the parts of a line: `word`, if it is in the line, and the texts around it. */
function piecesOf(characters: readonly Character[], { from, to }: Span, word: number | undefined): Piece[] {
  const pieces: { text: string; isSpoken: boolean }[] = [];
  for (const character of characters.slice(from, to)) {
    const isSpoken = character.word === word;
    const last = pieces.at(-1);
    if (last?.isSpoken === isSpoken) last.text += character.text;
    else pieces.push({ text: character.text, isSpoken });
  }
  return pieces;
}

/**
 * Divides the time in which lines are shown at the beginning and the end of each of their words. `word` is undefined
 * between two words.
 */
function spokenParts(
  characters: readonly Character[],
  group: readonly Span[],
  words: readonly Timed[],
  { startMs, endMs }: Omit<Timed, 'text'>,
): (Omit<Timed, 'text'> & { readonly word: number | undefined })[] {
  const parts: (Omit<Timed, 'text'> & { readonly word: number | undefined })[] = [];
  let at = startMs;
  const add = (until: number, word?: number): void => {
    if (until > at) parts.push({ startMs: at, endMs: until, word });
    at = Math.max(at, until);
  };
  const shown = group.flatMap(({ from, to }) => characters.slice(from, to).map(({ word }) => word));
  for (const word of new Set(shown)) {
    const times = words[word];
    if (!times) continue; // a space
    add(Math.min(times.startMs, endMs));
    add(Math.min(times.endMs, endMs), word);
  }
  add(endMs);
  return parts.length > 0 ? parts : [{ startMs, endMs, word: undefined }];
}
