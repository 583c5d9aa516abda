/** What is said and shown in a few seconds of a video, as the model reads it. Names are those of the original. */
export interface TimelineEntry {
  /** Seconds from the start of the video. */
  readonly start_time: number;
  readonly end_time: number;
  /** Texts one under another. */
  readonly audio_transcript: string;
  readonly visual_caption: string;
}

/** A text with the second at which it begins. */
export interface TimedText {
  readonly time: number;
  readonly text: string;
}

const ENTRY_S = 10;

/** Returns the entries of a video in which something is said or shown, in the order of time. */
export function timelineOf(said: readonly TimedText[], shown: readonly TimedText[]): TimelineEntry[] {
  const [speech, pictures] = [said, shown].map(byEntry) as [Texts, Texts];
  const numbers = [...new Set([...speech.keys(), ...pictures.keys()])].sort((a, b) => a - b);
  return numbers.map((n) => ({
    start_time: n * ENTRY_S,
    end_time: (n + 1) * ENTRY_S,
    audio_transcript: (speech.get(n) ?? []).join('\n'),
    visual_caption: (pictures.get(n) ?? []).join('\n'),
  }));
}

/** Texts by the numbers of their entries. */
type Texts = ReadonlyMap<number, readonly string[]>;

function byEntry(texts: readonly TimedText[]): Texts {
  const entries = new Map<number, string[]>();
  for (const { time, text } of texts) {
    const trimmed = text.trim();
    if (trimmed === '') continue;
    const n = Math.floor(time / ENTRY_S);
    const there = entries.get(n) ?? [];
    if (!there.includes(trimmed)) entries.set(n, [...there, trimmed]);
  }
  return entries;
}

/**
 * Returns as many entries as `fits` takes, in the order of time. Those with rare words of the question stay longest,
 * and of equal ones so many as lie evenly in the video.
 */
export async function fittingEntries(
  timeline: readonly TimelineEntry[],
  question: string,
  fits: (entries: readonly TimelineEntry[]) => Promise<boolean>,
): Promise<readonly TimelineEntry[]> {
  if (await fits(timeline)) return timeline;
  const ranked = byRelevance(timeline, question);
  const best = (count: number): TimelineEntry[] => ranked.slice(0, count).sort((a, b) => a.start_time - b.start_time);
  let [least, tooMany] = [0, timeline.length];
  while (tooMany - least > 1) {
    const middle = Math.floor((least + tooMany) / 2);
    if (await fits(best(middle))) least = middle;
    else tooMany = middle;
  }
  return best(least);
}

function byRelevance(timeline: readonly TimelineEntry[], question: string): TimelineEntry[] {
  const words = timeline.map((entry) => wordsOf(`${entry.audio_transcript} ${entry.visual_caption}`));
  const weights = [...wordsOf(question)].map((word) => {
    const count = words.filter((those) => those.has(word)).length;
    return { word, weight: count === 0 ? 0 : Math.log(timeline.length / count) };
  });
  return timeline
    .map((entry, n) => ({
      entry,
      place: evenPlace(n),
      score: weights.reduce((sum, { word, weight }) => sum + (words[n]!.has(word) ? weight : 0), 0),
    }))
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .map(({ entry }) => entry);
}

/** Words in lower case. Characters of scripts without spaces are words. */
const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(
    text.toLowerCase().match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu),
  );

/** The mirror image of the bits of a number behind the point. The first numbers of this order lie evenly among all. */
function evenPlace(n: number): number {
  let place = 0;
  for (let [rest, digit] = [n, 0.5]; rest > 0; rest = Math.floor(rest / 2), digit /= 2) place += (rest % 2) * digit;
  return place;
}

/** Joins entries that follow each other. Returns the times from which to which they go. */
export function intervalsOf(
  entries: readonly Pick<TimelineEntry, 'start_time' | 'end_time'>[],
): { start_time: number; end_time: number }[] {
  const joined: { start_time: number; end_time: number }[] = [];
  for (const { start_time: start, end_time: end } of entries) {
    const last = joined.at(-1);
    if (last?.end_time === start) last.end_time = end;
    else joined.push({ start_time: start, end_time: end });
  }
  return joined;
}
