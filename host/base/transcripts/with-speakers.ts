import type { AsrOutput, AsrSegment, AsrWord, SpeakerDiarizationSegment, TimeInterval } from '../schemas/index.ts';

export interface WithSpeakersOptions {
  /**
   * Whether neighbouring segments of one speaker become one segment, and speakers are numbered in the order in which
   * they begin. Default: false.
   */
  readonly merge?: boolean;
}

/** Words after which a segment ends with its sentence, and most words of a sentence that gets one speaker. */
const LONG = 50;
const SENTENCE_END = /[.?!。？！]["'”’)\]」』]*$/;
/** What a word without length that lies in a segment counts. */
const MOMENT_S = 1e-9;

/** A word, or a segment without words, and the segment that it comes from. */
interface Piece {
  readonly from: AsrSegment;
  readonly word: AsrWord | undefined;
  readonly time: TimeInterval;
}

interface SpokenPiece extends Piece {
  readonly speaker: string;
}

/**
 * Returns the transcript with the speaker of each word, divided into segments of one speaker. A word belongs to the
 * speaker who speaks longest during it, else to the speaker before it. A sentence of at most 50 words belongs to the
 * speaker of most of its words. A transcript without text, or without a word during the segments, is returned as it is.
 * Throws `TypeError` for a transcript without words.
 */
export function withSpeakers(
  transcript: AsrOutput,
  speech: { readonly segments: readonly SpeakerDiarizationSegment[] },
  { merge = false }: WithSpeakersOptions = {},
): AsrOutput {
  const spoken = transcript.segments.filter(({ text }) => text.trim() !== '');
  if (spoken.length === 0 || speech.segments.length === 0) return transcript;
  if (spoken.every(({ words }) => words.length === 0))
    throw new TypeError('The transcript has no times of words: transcribe with word_timestamps: true.');
  const pieces = spoken.flatMap(piecesOf).sort((a, b) => a.time.start - b.time.start);
  const known = filled(heardSpeakers(pieces, speech.segments));
  if (!known) return transcript;
  const heard = pieces.map((piece, at): SpokenPiece => ({ ...piece, speaker: known[at] ?? '' }));
  const segments = divided(bySentence(heard)).map(segmentOf);
  return { ...transcript, segments: merge ? renamed(merged(segments)) : segments };
}

function piecesOf(from: AsrSegment): Piece[] {
  if (from.words.length === 0) return [{ from, word: undefined, time: from.time_interval }];
  return from.words.map((word) => ({ from, word, time: word.time_interval }));
}

/** Returns the speaker with the largest overlap for each piece. Pieces are ordered by their start. */
function heardSpeakers(
  pieces: readonly Piece[],
  segments: readonly SpeakerDiarizationSegment[],
): (string | undefined)[] {
  const ordered = [...segments].sort((a, b) => a.time_interval.start - b.time_interval.start);
  let first = 0;
  return pieces.map(({ time }) => {
    while ((ordered[first]?.time_interval.end ?? Infinity) < time.start) first += 1;
    const overlaps = new Map<string, number>();
    for (let at = first; at < ordered.length; at += 1) {
      const { time_interval: other, speaker } = ordered[at] ?? { time_interval: time, speaker: '' };
      if (other.start > time.end) break;
      const overlap = Math.min(time.end, other.end) - Math.max(time.start, other.start);
      const counted = overlap === 0 && time.start === time.end ? MOMENT_S : overlap;
      if (counted > 0) overlaps.set(speaker, (overlaps.get(speaker) ?? 0) + counted);
    }
    return mostOf(overlaps)?.[0];
  });
}

/** Returns the first entry with the highest number. */
function mostOf<Key>(counts: ReadonlyMap<Key, number>): [Key, number] | undefined {
  let best: [Key, number] | undefined;
  for (const entry of counts) if (!best || entry[1] > best[1]) best = entry;
  return best;
}

function countsOf<Key>(values: readonly Key[]): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Fills gaps with the speaker before, and the beginning with the first speaker. Undefined if there is no speaker. */
function filled(speakers: readonly (string | undefined)[]): string[] | undefined {
  let last = speakers.find((speaker) => speaker !== undefined);
  if (last === undefined) return undefined;
  const all: string[] = [];
  for (const speaker of speakers) {
    last = speaker ?? last;
    all.push(last);
  }
  return all;
}

const endsSentence = ({ word, from }: Piece): boolean => SENTENCE_END.test((word?.word ?? from.text).trimEnd());

/** Gives each whole sentence to the speaker of at least half of its words, unless it is long. */
function bySentence(pieces: readonly SpokenPiece[]): SpokenPiece[] {
  const result: SpokenPiece[] = [];
  let sentence: SpokenPiece[] = [];
  for (const piece of pieces) {
    sentence.push(piece);
    if (!endsSentence(piece)) continue;
    result.push(...ofMostSpeaker(sentence));
    sentence = [];
  }
  return [...result, ...sentence];
}

function ofMostSpeaker(sentence: readonly SpokenPiece[]): readonly SpokenPiece[] {
  if (sentence.length > LONG) return sentence;
  const [speaker, count] = mostOf(countsOf(sentence.map((piece) => piece.speaker))) ?? ['', 0];
  return count >= sentence.length / 2 ? sentence.map((piece) => ({ ...piece, speaker })) : sentence;
}

/** Divides the pieces where the speaker changes, and after the first sentence that ends after many words. */
function divided(pieces: readonly SpokenPiece[]): SpokenPiece[][] {
  const groups: SpokenPiece[][] = [];
  for (const piece of pieces) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const isFull = group !== undefined && last !== undefined && group.length >= LONG && endsSentence(last);
    if (group && last?.speaker === piece.speaker && !isFull) group.push(piece);
    else groups.push([piece]);
  }
  return groups;
}

/** Returns a segment whose confidences are those of the segment that most of the words come from. */
function segmentOf(pieces: readonly SpokenPiece[]): AsrSegment {
  const source = mostOf(countsOf(pieces.map(({ from }) => from)))?.[0];
  const speaker = pieces[0]?.speaker ?? null;
  return {
    text: pieces.map(({ word, from }) => word?.word ?? from.text).join(''),
    time_interval: {
      start: pieces[0]?.time.start ?? 0,
      end: pieces.reduce((end, { time }) => Math.max(end, time.end), 0),
    },
    confidence: source?.confidence ?? null,
    no_speech_confidence: source?.no_speech_confidence ?? null,
    words: pieces.flatMap(({ word }) => (word ? [{ ...word, speaker }] : [])),
    speaker,
  };
}

/** Joins neighbours of one speaker. The confidences are those of the part with most words. */
function merged(segments: readonly AsrSegment[]): AsrSegment[] {
  const groups: AsrSegment[][] = [];
  for (const segment of segments) {
    const group = groups.at(-1);
    if (group?.[0]?.speaker === segment.speaker) group.push(segment);
    else groups.push([segment]);
  }
  return groups.flatMap((group) => {
    const [first, ...others] = group;
    if (!first) return [];
    const most = group.reduce((best, segment) => (segment.words.length > best.words.length ? segment : best));
    return {
      ...first,
      text: [first.text.trimEnd(), ...others.map(({ text }) => text.trim())].join(' '),
      time_interval: {
        start: first.time_interval.start,
        end: Math.max(...group.map(({ time_interval: { end } }) => end)),
      },
      confidence: most.confidence,
      no_speech_confidence: most.no_speech_confidence,
      words: group.flatMap(({ words }) => words),
    };
  });
}

/** Numbers the speakers in the order in which they begin. */
function renamed(segments: readonly AsrSegment[]): AsrSegment[] {
  const names = new Map<string | null, string>();
  for (const { speaker } of segments)
    if (!names.has(speaker)) names.set(speaker, `SPEAKER_${String(names.size).padStart(2, '0')}`);
  return segments.map((segment) => {
    const speaker = names.get(segment.speaker) ?? null;
    return { ...segment, speaker, words: segment.words.map((word) => ({ ...word, speaker })) };
  });
}
