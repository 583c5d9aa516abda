import type { Chapter } from '../../../base/schemas/videos/frames.ts';

/** What a file says about itself. It is text of strangers. */
export interface Texts {
  readonly title?: string;
  readonly description?: string;
  readonly chapters: readonly Chapter[];
}

/** Characters of a title or a description, and chapters of a file. */
const MAX_CHARS = 16_384;
const MAX_CHAPTERS = 1000;

/**
 * Reads ffmpeg's form of metadata: `name=value`, in sections. A backslash stands before a character with a meaning.
 * `start` is the time of the file that a player shows as 0.
 */
export function parseTexts(ffmetadata: string, start = 0): Texts {
  const [file = [], ...sections] = sectionsOf(ffmetadata);
  const values = new Map(file.map(([name, value]) => [name.toLowerCase(), value]));
  const title = textOf(values.get('title'));
  const description = textOf(values.get('description') ?? values.get('comment'));
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    chapters: sections.flatMap((section) => chapterOf(new Map(section), start)).slice(0, MAX_CHAPTERS),
  };
}

type Section = (readonly [name: string, value: string])[];

/** Returns the values of the file, and then those of each chapter. Streams have sections without chapters' values. */
function sectionsOf(ffmetadata: string): Section[] {
  const sections: Section[] = [[]];
  for (const [line] of ffmetadata.matchAll(/(?:\\[\s\S]|[^\\\n])+/g)) {
    if (line === '[CHAPTER]' || line === '[STREAM]') sections.push([]);
    const [, name, value] = /^((?:\\[\s\S]|[^\\=;#])+)=([\s\S]*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) sections.at(-1)?.push([plain(name), plain(value)]);
  }
  return sections;
}

const plain = (escaped: string): string => escaped.replace(/\\([\s\S])/g, '$1');

const textOf = (value: string | undefined): string | undefined => value?.trim().slice(0, MAX_CHARS) || undefined;

function chapterOf(values: ReadonlyMap<string, string>, zero: number): Chapter[] {
  const [, part, of] = /^(\d+)\/(\d+)$/.exec(values.get('TIMEBASE') ?? '') ?? [];
  const seconds = (name: string): number => (Number(values.get(name)) * Number(part)) / Number(of) - zero;
  const [start, end, title] = [seconds('START'), seconds('END'), textOf(values.get('title'))];
  if (!(end >= start)) return [];
  return [{ start: Math.max(0, start), end: Math.max(0, end), ...(title !== undefined && { title }) }];
}
