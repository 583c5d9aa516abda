/** Groups that notes are put into: the summary has a bullet point for each. */
const MAX_GROUPS = 8;
/** Lines to keep when there are enough: given many, a small model copies them instead of summing up. */
const ENOUGH_LINES = 10;
const MIN_LINES_OF_A_PART = 2;

/**
 * Notes about consecutive parts, a bullet a line, as one paragraph a group of parts. Each line appears once (speakers
 * come back to things, and small models repeat themselves), a last line that was cut off is left out, and of each part
 * only the first lines are kept.
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
