/** Maximum number of groups of notes. The summary has a bullet point for each group. */
const MAX_GROUPS = 8;
/** Number of lines that is enough. Given more lines, a small model copies them instead of summarizing. */
const ENOUGH_LINES = 10;
const MIN_LINES_OF_A_PART = 2;

/**
 * Condenses notes about consecutive parts, one bullet per line, into one paragraph for each group of parts. Each line
 * appears once, because speakers return to subjects and small models repeat themselves. A last line that was cut off is
 * dropped, and only the first lines of each part are kept.
 */
export function condenseNotes(notes: readonly string[]): string[] {
  const seen = new Set<string>();
  const parts = notes
    .map((note) => completeLines(note).filter((line) => !seen.has(line) && seen.add(line)))
    .filter((lines) => lines.length > 0);
  const kept = linesToKeep(parts);
  const size = Math.ceil(parts.length / MAX_GROUPS);
  return Array.from({ length: Math.ceil(parts.length / size) }, (_, at) => {
    const lines = parts.slice(at * size, (at + 1) * size).flatMap((part) => part.slice(0, kept));
    return `Part ${at + 1}: ${lines.join(' ')}`;
  });
}

function completeLines(note: string): string[] {
  const lines = note
    .split('\n')
    .map((line) => line.trim().replace(/^[-*•]\s*/, ''))
    .filter((line) => line !== '');
  const isSentence = (line: string | undefined): boolean => line !== undefined && /[.!?。！？]["')\]]?$/u.test(line);
  const isCutOff = lines.length > 1 && !isSentence(lines.at(-1)) && lines.some(isSentence);
  return isCutOff ? lines.slice(0, -1) : lines;
}

function linesToKeep(parts: readonly (readonly string[])[]): number {
  const longest = Math.max(...parts.map((lines) => lines.length));
  let kept = MIN_LINES_OF_A_PART;
  while (kept < longest && parts.reduce((sum, lines) => sum + Math.min(kept, lines.length), 0) < ENOUGH_LINES)
    kept += 1;
  return kept;
}
