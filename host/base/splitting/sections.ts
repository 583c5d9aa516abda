import { TURN_LENGTH } from './turns.ts';

/** A part of a Markdown text under a heading, from `start` up to `end`. */
export interface Section {
  readonly start: number;
  readonly end: number;
  /** The headings above it and its own, from the outermost one. */
  readonly headings: readonly string[];
}

interface Heading {
  readonly level: number;
  readonly title: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?=\s|$)/;
/** A line that makes the line above a heading. */
const UNDERLINE = /^ {0,3}(?:(=)=*|--+)\s*$/;
/** Begins of lines that are no heading, even if they are underlined. */
const ITEM = /^\s*(?:[-*+>|]|\d+[.)])/;
/** What many tools write before the text, between two such lines. */
const FRONT_MATTER = '---';

/**
 * Yields the sections of a Markdown text, which together are the whole text. Lines in code blocks and in front matter
 * are no headings. A heading without a text of its own belongs to the section after it. In a long section, undefined
 * comes after each {@link TURN_LENGTH} characters.
 */
export function* sectionsOf(text: string): Generator<Section | undefined, void> {
  let open: readonly Heading[] = [];
  let start = 0;
  const sectionTo = (end: number): Section => ({ start, end, headings: open.map(({ title }) => title) });

  /** The mark that ends the code block in which the line is. */
  let fence = hasFrontMatter(text) ? FRONT_MATTER : undefined;
  /** Whether the section has no text yet. */
  let isEmpty = true;
  /** The line above, if it begins a paragraph. */
  let above: { readonly at: number; readonly isEmpty: boolean } | undefined;
  let isInParagraph = false;
  let turn = TURN_LENGTH;
  for (let at = fence ? text.indexOf('\n') + 1 : 0; at < text.length;) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found + 1;
    const line = text.slice(at, end);
    const heading = fence === undefined ? headingOf(line) : undefined;
    const underline = above && UNDERLINE.exec(line);
    const begun = heading
      ? { at, isEmpty, heading }
      : above && underline
        ? { ...above, heading: { level: underline[1] ? 1 : 2, title: text.slice(above.at, at).trim() } }
        : undefined;
    if (begun && !begun.isEmpty) {
      yield sectionTo(begun.at);
      start = begun.at;
    }
    if (begun) open = [...open.filter(({ level }) => level < begun.heading.level), begun.heading];
    const isText = !heading && !underline && line.trim() !== '';
    const mark = FENCE.exec(line)?.[1];
    const isParagraph = isText && fence === undefined && mark === undefined && !ITEM.test(line);
    above = isParagraph && !isInParagraph ? { at, isEmpty } : undefined;
    isInParagraph = isParagraph;
    isEmpty = heading || underline ? true : isEmpty && !isText;
    if (fence === undefined) fence = mark;
    else if (line.trim().startsWith(fence)) fence = undefined;
    at = end;
    if (at < turn) continue;
    yield undefined;
    turn = at + TURN_LENGTH;
  }
  yield sectionTo(text.length);
}

function hasFrontMatter(text: string): boolean {
  return /^---[ \t]*\r?\n/.test(text) && /\n---[ \t]*(?:\r?\n|$)/.test(text);
}

function headingOf(line: string): Heading | undefined {
  const [mark, signs = ''] = HEADING.exec(line) ?? [];
  if (mark === undefined) return undefined;
  return {
    level: signs.length,
    title: line
      .slice(mark.length)
      .trim()
      .replace(/(?:^|[ \t])#+$/, '')
      .trim(),
  };
}
