import type { AsrSegment, TimeInterval } from '../schemas/index.ts';
import { oneLine } from '../transcripts/one-line.ts';
import { spokenText } from '../transcripts/text.ts';
import { longestFit } from './longest-fit.ts';
import { splitText } from './split-text.ts';
import {
  checkedCounter,
  checkOption,
  DEFAULT_TOKENS,
  estimatedTokens,
  LEAST_TOKENS,
  MOST_TOKENS,
  type TokenCounter,
} from './tokens.ts';

export interface SplitTranscriptOptions {
  /** Most tokens of a chunk, with the names of speakers, from 16 to 1,000,000. Default: 800. */
  readonly maxTokens?: number | undefined;
  /** Most seconds from the start to the end of a chunk, from 1 to 86,400. Default: 60. */
  readonly maxSeconds?: number | undefined;
  /**
   * Seconds at the end of a chunk that the next one repeats, from 0 to half of `maxSeconds`. It repeats whole segments
   * or words, and at most half of them. Default: 0.
   */
  readonly overlapSeconds?: number | undefined;
  /** As for `splitText`. */
  readonly countTokens?: TokenCounter | undefined;
}

/** What is needed of a segment of a transcript. */
export type SpokenSegment = Pick<AsrSegment, 'text' | 'time_interval' | 'speaker' | 'words'>;

/** A part of a transcript. */
export interface TranscriptChunk {
  /** Where speakers are known, each turn is a line such as `Ada: Good morning.` It is not empty. */
  readonly text: string;
  /** From the start of its first segment to the latest end, in seconds. */
  readonly time_interval: TimeInterval;
  /** The names of its speakers, in the order in which they begin. */
  readonly speakers: readonly string[];
}

const MOST_SECONDS = 86_400;
const DEFAULT_SECONDS = 60;
/** A chunk has at most so many segments or words for each token: some counters see no token in a sign. */
const SEGMENTS_PER_TOKEN = 4;

/**
 * Divides the segments of a transcript into chunks of at most `maxTokens` and `maxSeconds`, in the order of their
 * starts. They end at the end of a sentence or a turn, if there is one. A segment that is too long is divided at its
 * words. A word, or a segment without times of words, is not divided in time: it is a chunk of more than `maxSeconds`,
 * or several chunks with the same times if it has too many tokens. Throws `RangeError` for options out of their range,
 * and `TypeError` if `countTokens` returns no number.
 */
export async function splitTranscript(
  segments: readonly SpokenSegment[],
  options: SplitTranscriptOptions = {},
): Promise<TranscriptChunk[]> {
  const { maxTokens = DEFAULT_TOKENS, maxSeconds = DEFAULT_SECONDS, overlapSeconds = 0 } = options;
  checkOption('maxTokens', maxTokens, LEAST_TOKENS, MOST_TOKENS);
  checkSeconds('maxSeconds', maxSeconds, 1, MOST_SECONDS);
  checkSeconds('overlapSeconds', overlapSeconds, 0, maxSeconds / 2);
  const count = checkedCounter(options.countTokens ?? estimatedTokens);
  const tokensOf = (units: readonly SpokenSegment[]): number | Promise<number> => count(textOf(units));

  const chunks: TranscriptChunk[] = [];
  /** What is in no chunk yet. The next segment is the last one. */
  const rest = segments
    .filter(({ text }) => oneLine(text) !== '')
    .toSorted((one, other) => one.time_interval.start - other.time_interval.start)
    .toReversed();
  let repeated: readonly SpokenSegment[] = [];
  let guess = 16;
  for (let next = rest.at(-1); next; next = rest.at(-1)) {
    const most = countWithin(maxSeconds, maxTokens * SEGMENTS_PER_TOKEN, repeated, rest);
    const candidate = (length: number): SpokenSegment[] => [...repeated, ...firstOf(rest, length)];
    const fits = most && (await longestFit(most, maxTokens, guess, (length) => tokensOf(candidate(length))));
    if (fits > 0) {
      const end = bestEnd(rest, fits);
      const length = end === fits || (await tokensOf(candidate(end))) <= maxTokens ? end : fits;
      const units = candidate(length);
      const chunk = chunkOf(units);
      chunks.push(chunk);
      rest.length -= length;
      guess = length;
      repeated = overlapSeconds === 0 ? [] : lateHalf(units, chunk.time_interval.end - overlapSeconds);
    } else if (repeated.length > 0) repeated = [];
    else {
      rest.pop();
      for (const part of (await divided(next, maxTokens, count)).toReversed()) rest.push(part);
    }
  }
  return chunks;
}

function checkSeconds(name: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return;
  throw new RangeError(`${name} must be a number from ${least} to ${most}, not ${String(value)}`);
}

function textOf(units: readonly SpokenSegment[]): string {
  return spokenText({ segments: units, transcription: { text: units.map(({ text }) => text).join('') } });
}

function chunkOf(units: readonly SpokenSegment[]): TranscriptChunk {
  const [start = 0] = units.map(({ time_interval }) => time_interval.start);
  const end = units.reduce((latest, { time_interval }) => Math.max(latest, time_interval.end), start);
  const speakers = [...new Set(units.flatMap(({ speaker }) => speaker ?? []))];
  return { text: textOf(units), time_interval: { start, end }, speakers };
}

/** Returns the first segments of the rest, which is in reverse order. */
function firstOf(rest: readonly SpokenSegment[], count: number): SpokenSegment[] {
  return rest.slice(rest.length - count).toReversed();
}

/** Returns how many segments, up to `most`, fit into the time of a chunk: at least one, if it cannot be divided. */
function countWithin(
  seconds: number,
  most: number,
  repeated: readonly SpokenSegment[],
  rest: readonly SpokenSegment[],
): number {
  const [first = rest.at(-1)] = repeated;
  if (!first) return 0;
  const latest = first.time_interval.start + seconds;
  let count = 0;
  for (let next = rest.at(-1); next && next.time_interval.end <= latest && count < most; next = rest.at(-1 - count))
    count += 1;
  return count === 0 && repeated.length === 0 && !wordsOf(first) ? 1 : count;
}

const SENTENCE_END = /[\p{STerm}…][\p{Pe}\p{Pf}"']{0,4}\s*$/u;

/** Returns how many of the first `count` segments of the rest end at the end of a sentence or of a turn. */
function bestEnd(rest: readonly SpokenSegment[], count: number): number {
  if (count === rest.length) return count;
  for (let end = count; end > count / 2; end -= 1) {
    const [last, next] = [rest.at(-end), rest.at(-end - 1)];
    if (last && (last.speaker !== next?.speaker || SENTENCE_END.test(last.text))) return end;
  }
  return count;
}

/** Returns the segments that begin at `start` or later, but at most half of all. */
function lateHalf(units: readonly SpokenSegment[], start: number): SpokenSegment[] {
  return units.slice(Math.ceil(units.length / 2)).filter(({ time_interval }) => time_interval.start >= start);
}

/** Returns the words of a segment as segments, if it has several ones with its whole text. */
function wordsOf({ text, words, speaker }: SpokenSegment): SpokenSegment[] | undefined {
  if (words.length < 2 || oneLine(words.map(({ word }) => word).join('')) !== oneLine(text)) return undefined;
  return words
    .filter(({ word }) => oneLine(word) !== '')
    .map((one) => ({ text: one.word, time_interval: one.time_interval, speaker: one.speaker ?? speaker, words: [] }));
}

/** Divides a segment that is too long for a chunk. */
async function divided(segment: SpokenSegment, maxTokens: number, countTokens: TokenCounter): Promise<SpokenSegment[]> {
  const words = wordsOf(segment);
  if (words) return words;
  const name = segment.speaker === null ? 0 : await countTokens(`${segment.speaker}: `);
  if (maxTokens - name < LEAST_TOKENS)
    throw new RangeError(`maxTokens is too small: the name of a speaker has ${name} tokens`);
  const parts = await splitText(segment.text, { maxTokens: maxTokens - name, overlapTokens: 0, countTokens });
  if (parts.length < 2) throw new RangeError('maxTokens is too small for a word and the name of its speaker');
  return parts.map(({ text }, n) => ({ ...segment, text: n === 0 ? text : ` ${text}`, words: [] }));
}
